"""The look that all pages share: a stylesheet of tokens and components, templates of the components, drawings."""

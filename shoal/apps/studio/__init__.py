"""Studio: the whole of Shoal in a browser, on the user's own machine.

The policy is the state: every click edits it, and the pages show what it says. There is no rule of privacy in here;
Studio calls the functions that the command line calls. A screen is a folder, a template and an entry in `screens.py`.
"""

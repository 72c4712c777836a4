"""Large tables in parts: mondrian's first cuts, the method in each part, the parts in processes of their own."""

from shoal.methods.parts.on_parts import release_in_parts

__all__ = ["release_in_parts"]

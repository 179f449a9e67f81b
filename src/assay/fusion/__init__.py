"""Fusing ranked lists: methods, normalisations, and from several runs to one."""

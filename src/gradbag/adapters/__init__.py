"""Bridges to other libraries; each file is the only one that imports its library."""

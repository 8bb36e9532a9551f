"""How many random inputs each property is tried on: few, for there are many properties."""

from hypothesis import settings

settings.register_profile("gradbag", max_examples=12, deadline=None)
settings.load_profile("gradbag")

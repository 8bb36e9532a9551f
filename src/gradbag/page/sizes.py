"""The sizes of a box in pixels, here and in the studio: `make stubs` writes them for its page, `make lint` compares."""

HEAD = 44  # with the title and the op
ROW = 24  # of a port or a setting
FOOT = 8
EDGE = 14  # between an edge and the text
CHARACTER = 6.6  # a mean one of the text in a row
TITLE = 1.22  # a character of the title is so much wider
SPARE_HEAD = 9  # characters that the head has room for besides its words
SPARE_ROW = 14  # and a row besides its names: for a value
NARROWEST = 184
WIDEST = 288
WIDTH_STEP = 8

"""The studio: a page in the browser on which ops are drawn as blocks, run and looked at; `gradbag studio` starts it.

launch      the address, the token, the browser, and the end of it all
gate        who may ask at all: one door for HTTP and WebSocket
routes_*    what can be asked; files, journal, trust do it where it is about files
worker      the processes that compute: the web process never does
services    what they compute, as plain functions of pages
"""

"""Shards as actors of Ray, which must be installed."""

import os
import secrets

# Ray reads them when it is imported: a cluster of these tests alone, whose token nobody else has.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))

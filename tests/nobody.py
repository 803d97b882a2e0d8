"""Acting as a user whom permissions bind, even where root runs the tests."""

import os

from tests.servers import cannot_start

NOBODY = 65_534
NO_OTHER_USER = "root may not become another user here, and may write everywhere"


def as_nobody(act):
    """Return the text that a function returns in a process of another user."""
    read, write = os.pipe()
    if not (child := os.fork()):
        try:
            os.write(write, _as_other_user(act).encode())
        finally:
            os._exit(0)  # whatever happens: the tests go on in one process, not in two
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    if text == NO_OTHER_USER:
        cannot_start(text)
    return text


def _as_other_user(act):
    if os.getuid() == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        except PermissionError:
            return NO_OTHER_USER
    return act()

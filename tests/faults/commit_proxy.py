"""Between the program and PostgreSQL: cuts a connection at a COMMIT, before or after it counts."""

import os
import select
import socket
import threading

LOST_REQUEST, LOST_ANSWER = "the COMMIT never arrives", "the answer to COMMIT never arrives"


class CommitProxy:
    """Forwards all there is, until the n-th COMMIT, counted from 0 over all connections."""

    def __init__(self, port, how, place):
        self.target = ("127.0.0.1", port)
        self.how = how
        self.left = place
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def in_own_process(self) -> int:
        """Serve in a fork; returns its process id."""
        pid = os.fork()
        if pid:
            self.server.close()
            return pid
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client):
        with client, socket.create_connection(self.target) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is client and b"COMMIT" in data and self._is_the_one():
                        if self.how == LOST_ANSWER:
                            server.sendall(data)
                            server.recv(65536)  # so it has been done
                        return
                    (server if ready is client else client).sendall(data)

    def _is_the_one(self):
        with self.lock:
            self.left -= 1
            return self.left == -1

"""An OpenAI-compatible endpoint on loopback that answers as a test wants, also wrongly."""

import json
import threading
import time
from contextlib import contextmanager

from tests.servers import LocalServer, QuietHandler


class Endpoint:
    """What was asked, and how to answer: ``answer(text, number)`` returns status, headers, body."""

    def __init__(self, answer):
        self.answer = answer
        self.asked: list[str] = []
        self.keys: set[str | None] = set()
        self.peers: set[tuple[str, int]] = set()
        self.url = ""
        self.lock = threading.Lock()

    def take(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        text = body["messages"][1]["content"]
        with self.lock:
            self.asked.append(text)
            self.keys.add(handler.headers.get("authorization"))
            self.peers.add(handler.client_address)
            number = len(self.asked)
        assert body["temperature"] == 0
        assert handler.path == "/v1/chat/completions"
        return self.answer(text, number)


def said(content, **more):
    """A reply as an LLM's endpoint writes it."""
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | more
    return 200, {}, json.dumps({"choices": [choice], "usage": {"total_tokens": 50}})


def verdict(value):
    return said(json.dumps({"verdict": value}))


@contextmanager
def endpoint(answer, protocol="HTTP/1.0"):
    """Serve until the block ends; by HTTP/1.1 connections stay open."""
    state = Endpoint(answer)

    class Handler(QuietHandler):
        protocol_version = protocol

        def respond(self):
            status, headers, body = state.take(self)
            time.sleep(float(headers.pop("delay", 0)))
            size = headers.pop("content-length", None)
            self.answer(status, body.encode(), headers.items(), size)

    with LocalServer(Handler) as server:
        state.url = f"{server.root}/v1"
        yield state

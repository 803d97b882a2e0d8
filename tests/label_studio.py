"""A real Label Studio on loopback, from an environment of its own, and people who answer in it."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from functools import cached_property
from pathlib import Path

import httpx

from monitor.plugins.label_studio.labeler import LabelStudioLabeler
from monitor.plugins.label_studio.projects import CHOICES
from monitor.plugins.label_studio.settings import LabelStudioSettings
from tests.servers import cannot_start, free_port

BESIDE = Path(__file__).parents[1] / ".label-studio/bin/label-studio"
STARTS_WITHIN = 600  # seconds; it makes its tables, which takes a minute, and more where it is busy
TOKEN = uuid.uuid4().hex + "0123abcd"
QUESTION = "Is it about <travel> & does it cost $100?"
_WORDS = {answer: choice for choice, answer in CHOICES.items()}
_ENVIRONMENT = {  # it asks nobody outside
    "COLLECT_ANALYTICS": "False",
    "LATEST_VERSION_CHECK": "False",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
}


def command():
    """Find what starts Label Studio: a variable, a command, or an environment beside the tests."""
    asked = os.environ.get("LABEL_STUDIO_COMMAND")
    if asked:
        return shlex.split(asked)
    found = shutil.which("label-studio") or (str(BESIDE) if BESIDE.exists() else None)
    if found is None:
        cannot_start("label-studio is not installed (make label-studio; a gigabyte of its own)")
    return [str(found)]


class LabelStudio:
    """A server with an empty store in ``folder``, and two people in it: ada, bob."""

    def __init__(self, folder, url=None, token=TOKEN):
        self.folder, self.token = folder, token
        self.password = uuid.uuid4().hex  # of ada
        self.url = url or f"http://127.0.0.1:{free_port()}"
        self._client = httpx.Client(
            base_url=self.url,
            headers={"authorization": f"Token {token}"},
            timeout=120,
            trust_env=False,
        )

    def __enter__(self):
        port = self.url.rpartition(":")[2]
        words = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--port", port]
        words += ["--data-dir", str(self.folder), "--username", "ada@example.com"]
        words += ["--password", self.password, "--user-token", self.token]
        with (self.folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [*command(), *words, "--enable-legacy-api-token"],
                cwd=self.folder,
                env={**os.environ, **_ENVIRONMENT, "HOME": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers()
        self.ask("POST", "/api/users/", {"email": "bob@example.com", "username": "bob"})
        return self

    def __exit__(self, *_):
        self._client.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _wait_until_it_answers(self):
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                if self._client.get("/api/current-user/whoami", timeout=10).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "log").read_text()[-500:]
                cannot_start(f"Label Studio did not start: {log}")
            time.sleep(0.5)

    def ask(self, method, path, body=None, **params):
        answer = self._client.request(method, path, json=body, params=params)
        assert answer.is_success, (method, path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    @cached_property
    def personal_token(self):
        """A personal access token, as Account & Settings gives it once."""
        return self.ask("POST", "/api/token/", {})["token"]

    def people(self):
        return {
            user["email"].partition("@")[0]: user["id"] for user in self.ask("GET", "/api/users/")
        }

    def projects(self, labeler):
        """Numbers of all projects of a labeler's store."""
        return [project.id for project in labeler.projects.all()]

    def tasks(self, project):
        """All tasks of a project, as the page on which people see them gets them."""
        query = {"project": project, "fields": "all", "page_size": 1000}
        return self.ask("GET", "/api/tasks/", **query)["tasks"]

    def task(self, labeler, key):
        """The task of a key."""
        there = [task for one in self.projects(labeler) for task in self.tasks(one)]
        return next(task for task in there if task["data"].get("task") == key)

    def answer(self, labeler, key, answer, *, who="ada"):
        """Let somebody answer a task, or edit what they answered before."""
        task = self.task(labeler, key)
        number = self.people()[who]
        body = {"result": result(self.word(answer)), "completed_by": number}
        mine = [one["id"] for one in task["annotations"] if one["completed_by"] == number]
        if mine:
            return self.ask("PATCH", f"/api/annotations/{mine[-1]}/", body)
        return self.annotate(task, body)

    @staticmethod
    def word(answer):
        """The choice that says it."""
        return _WORDS[answer]

    def annotate(self, task, body):
        """Write an annotation, whatever is in it."""
        return self.ask("POST", f"/api/tasks/{task['id']}/annotations/", body)

    def seen(self, labeler):
        """All that people see of a labeler's tasks."""
        tasks = [task["data"] for project in self.projects(labeler) for task in self.tasks(project)]
        return json.dumps(tasks)


def result(choice):
    """What the page sends for a choice."""
    value = {"choices": [choice]}
    return [{"from_name": "answer", "to_name": "text", "type": "choices", "value": value}]


def settings(url, token=TOKEN, **more):
    return LabelStudioSettings.model_validate(
        {"url": url, "token": token, "question": QUESTION, **more}
    )


def labeler_on(url, token=TOKEN, *, store=None):
    """A labeler of a store of its own."""
    store = store or uuid.uuid4().hex
    return LabelStudioLabeler(settings(url, token), lambda: store)

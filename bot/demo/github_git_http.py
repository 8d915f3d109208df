"""Cloning from the local GitHub: ``git http-backend`` behind GitHub's rules. Reading only; a push is refused."""

from __future__ import annotations

import asyncio
import re
from asyncio.subprocess import DEVNULL, PIPE, Process
from datetime import datetime

from aiohttp import web

from bot.demo.github_access import holds
from bot.demo.github_auth import Caller, Refusal, git_caller, grants
from bot.demo.github_git import environment
from bot.demo.github_state import Repository, State
from sandbox import spawn

PATH = re.compile(r"/(?P<owner>[^/]+)/(?P<repo>[^/]+?)(\.git)?/(?P<verb>info/refs|git-upload-pack|git-receive-pack)")
CHUNK_BYTES = 64 * 1024
# http-backend writes its header at once; a repository that needs longer is broken.
HEADER_SECONDS = 60.0
MAX_HEADER_BYTES = 16 * 1024
# From the end of its output to its exit.
END_SECONDS = 10.0


def admit(repository: Repository | None, service: str, authorization: str, state: State, caller: Caller) -> Repository:
    """The repository, if this caller may read it. Raises ``Refusal`` with GitHub's status and words."""
    if repository is None or (repository.private and caller.token is None):
        # GitHub asks for a name even where there is nothing, so as not to tell which names exist.
        raise Refusal(404 if authorization else 401, "Repository not found.")
    may = caller.token is not None and holds(state, caller.token, repository)
    if repository.private and not may:
        raise Refusal(404, "Repository not found.")
    if repository.private and caller.token is not None and not grants(caller.token, "contents", "read"):
        raise Refusal(403, "Write access to repository not granted.")
    if service == "git-receive-pack":
        raise Refusal(403 if authorization else 401, f"Permission to {repository.full_name}.git denied.")
    return repository


def identify(authorization: str, state: State, now: datetime) -> Caller:
    """As ``git_caller``; a name and password that are no good are 401 in git's own words."""
    try:
        return git_caller(authorization, state, now)
    except Refusal:
        raise Refusal(401, "Invalid username or token. Password authentication is not supported.") from None


def refusal(error: Refusal) -> web.Response:
    """Git shows a text/plain body to its user, each line after ``remote:``."""
    headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if error.status == 401 else {}
    return web.Response(status=error.status, text=str(error.body["message"]) + "\n", headers=headers)


async def serve(request: web.Request, repository: Repository, verb: str) -> web.StreamResponse:
    """Run http-backend for this request, both ways streamed. It ends with the connection."""
    process = await _start(request, repository, verb)
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RuntimeError("git http-backend was started without pipes")
    feeder = spawn(_feed(request, stdin), name="github-git-request")
    try:
        response = await _begin(stdout)
        await response.prepare(request)
        while part := await stdout.read(CHUNK_BYTES):
            await response.write(part)
        await response.write_eof()
        # It has said all and ends by itself: killing now would reap it behind asyncio's back, which then warns.
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
        return response
    finally:
        feeder.cancel()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _start(request: web.Request, repository: Repository, verb: str) -> Process:
    cgi = {
        "GIT_PROJECT_ROOT": str(repository.git_dir.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repository.git_dir.name}/{verb}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.rel_url.raw_query_string,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_ADDR": request.remote or "",
    }
    if request.content_length is not None:
        cgi["CONTENT_LENGTH"] = str(request.content_length)
    return await asyncio.create_subprocess_exec(
        "git",
        "http-backend",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment(repository.git_dir.parent) | cgi,
        limit=MAX_HEADER_BYTES,
    )


async def _feed(request: web.Request, stdin: asyncio.StreamWriter) -> None:
    """The request's body into the process, compressed if it came so."""
    try:
        async for part in request.content.iter_chunked(CHUNK_BYTES):
            stdin.write(part)
            await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has read enough, or has ended: its answer says which
    finally:
        stdin.close()


async def _begin(stdout: asyncio.StreamReader) -> web.StreamResponse:
    """Read the CGI header."""
    response = web.StreamResponse()
    async with asyncio.timeout(HEADER_SECONDS):
        while line := (await stdout.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            if name.lower() == "status":
                response.set_status(int(value.split()[0]))
            else:
                response.headers[name] = value.strip()
    return response

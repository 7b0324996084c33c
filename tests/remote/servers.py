# SPDX-License-Identifier: MIT
"""Servers on the loopback for the tests of URLs: one that does all that servers do wrong, with a
look-alike of the Hugging Face hub, and nginx with and without TLS. Each tells what it was asked."""
import hashlib
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse

RANGE = re.compile(r"bytes=(\d+)-(\d+)$")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Seen(list):
    """Requests in their order: (path, headers)."""

    def paths(self):
        return [path for path, _ in self]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        with self.server.lock:
            self.server.seen.append((self.path, dict(self.headers)))
            count = self.server.counts[self.path] = self.server.counts.get(self.path, 0) + 1
        try:
            self.server.answer(self, count)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        if "Content_Length" not in headers:
            headers["Content_Length"] = len(body)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def asked(self, data):
        """The range that was asked for: first byte, byte behind the last."""
        match = RANGE.match(self.headers.get("Range", ""))
        if not match:
            return 0, len(data)
        return int(match[1]), min(int(match[2]) + 1, len(data))

    def send_range(self, data, etag='"one"', cut=None, total=None, shift=0, length=None, **headers):
        """A range of `data`, or something wrong in place of it."""
        first, end = self.asked(data)
        if first >= len(data):
            self.reply(416, Content_Range=f"bytes */{len(data)}")
            return
        if self.headers.get("If-Range") not in (None, etag):
            self.reply(200, data, ETag=etag)
            return
        body = data[first:end]
        self.reply(206, body if cut is None else body[:cut],
                   Content_Range=f"bytes {first + shift}-{end - 1 + shift}/{total or len(data)}",
                   Content_Length=len(body) if length is None else length, ETag=etag, **headers)
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    """Answers by `routes`: a function of the handler and of how often the path was asked."""
    daemon_threads = True

    def __init__(self, routes):
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes, self.seen, self.counts = routes, Seen(), {}
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, handler, count):
        route = self.routes.get(handler.path.partition("?")[0])
        if route:
            route(handler, count)
        else:
            handler.reply(404, b"not here")

    def handle_error(self, *_):
        pass

    def forget(self):
        with self.lock:
            self.seen.clear()
            self.counts.clear()

    def stop(self):
        self.shutdown()
        self.server_close()


class Hub(Server):
    """Lists and files of models, as the hub gives them: files of LFS lie on another server."""
    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    def __init__(self, token=None):
        super().__init__({})
        self.models, self.token = {}, token
        self.store = Server({})

    def add(self, name, files):
        self.models[name] = files
        for data in files.values():
            digest = hashlib.sha256(data).hexdigest()
            self.store.routes["/" + digest] = lambda h, _, d=data, e=digest: h.send_range(d, f'"{e}"')

    def answer(self, handler, count):
        path = handler.path.partition("?")[0]
        if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
            handler.reply(401, b"{}", X_Error_Code="GatedRepo")
            return
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        name, revision = (listing or file).group(1, 2) if listing or file else (None, None)
        if name not in self.models or revision not in ("main", self.COMMIT, "refs%2Fpr%2F1"):
            handler.reply(404, b"{}", X_Error_Code="RepoNotFound")
        elif listing:
            files = [self.listed(f, d) for f, d in self.models[name].items()]
            handler.reply(200, json.dumps({"id": name, "sha": self.COMMIT, "siblings": files,
                                           "tags": ["x"], "private": False}).encode())
        else:
            self.answer_file(handler, self.models[name].get(urllib.parse.unquote(file[3])))

    @staticmethod
    def listed(name, data):
        """A file in a list: its name in Git, or its SHA-256 where it is in LFS."""
        entry = {"rfilename": name, "size": len(data), "blobId": "x"}
        if len(data) < 4096:
            entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        else:
            entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        return entry

    def answer_file(self, handler, data):
        if data is None:
            handler.reply(404, b"", X_Error_Code="EntryNotFound")
        elif len(data) < 4096:
            handler.send_range(data, X_Repo_Commit=self.COMMIT)
        else:
            digest = hashlib.sha256(data).hexdigest()
            handler.reply(302, Location=f"{self.store.url}/{digest}?signature=secret",
                          X_Repo_Commit=self.COMMIT)

    def stop(self):
        self.store.stop()
        super().stop()


def certificate(folder):
    """A key and a certificate of 127.0.0.1 that it signed itself."""
    key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    return key, cert


NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    log_format asked '$status $request_uri $http_range';
    access_log {folder}/access.log asked;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls_port} ssl http2;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        root {files};
        location /whole/ {{ alias {files}/; max_ranges 0; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 permanent; }}
        location /down/ {{ rewrite ^/down/(.*)$ http://127.0.0.1:{port}/$1 redirect; }}
        location /slow/ {{ alias {files}/; limit_rate 2m; }}
        location /closed/ {{
            alias {files}/;
            auth_basic "closed";
            auth_basic_user_file {folder}/users;
        }}
    }}
}}
"""


class Nginx:
    """The real thing; `available` tells whether it is installed."""
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    available = bool(program) and bool(shutil.which("openssl"))

    def __init__(self, folder, files):
        self.folder, self.port, self.tls_port = folder, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.tls_url = f"https://127.0.0.1:{self.tls_port}"
        key, self.cert = certificate(folder)
        with open(os.path.join(folder, "users"), "w") as f:
            f.write("ann:{PLAIN}s3cr3t/word\n")
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w") as f:
            f.write(NGINX.format(folder=folder, files=files, port=self.port, key=key,
                                 tls_port=self.tls_port, cert=self.cert))
        self.process = subprocess.Popen([self.program, "-p", folder, "-c", config],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()

    def wait(self):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.tls_port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("nginx does not start")

    def wait_for_reader(self, path):
        """Until it has begun to send the file."""
        folder = f"/proc/{self.process.pid}/fd"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for fd in os.listdir(folder):
                try:
                    if os.path.samefile(os.path.join(folder, fd), path):
                        return
                except OSError:  # closed by now
                    pass
            time.sleep(0.002)
        raise RuntimeError("nobody reads the file")

    def log(self):
        """Lines "STATUS URI RANGE" so far."""
        with open(os.path.join(self.folder, "access.log")) as f:
            return f.read().splitlines()

    def forget(self):
        open(os.path.join(self.folder, "access.log"), "w").close()

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

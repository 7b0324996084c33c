# SPDX-License-Identifier: MIT
"""A look-alike of an object store that speaks S3 (objects, lists in pages, multipart uploads), which
checks signatures by a second writing of Signature Version 4, and a proxy that puts faults before a real
store."""
import base64
import hashlib
import hmac
import http.client
import re
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape

from servers import Handler, Server

ACCESS, SECRET, REGION = "AKIDTARE", "s3cr3t/Key+of=tare", "eu-test-1"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def signature(method, target, headers, secret, region):
    """What the header Authorization has to hold, from the request as it arrived."""
    given = dict(part.strip().split("=", 1) for part in
                 headers["Authorization"].removeprefix("AWS4-HMAC-SHA256").split(","))
    path, _, query = target.partition("?")
    pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&")) if query else []
    names = given["SignedHeaders"].split(";")
    lines = [f"{name}:{' '.join(headers[name].split())}\n" for name in names]
    text = "\n".join([method, path, "&".join(pairs), "".join(lines), given["SignedHeaders"],
                      headers["x-amz-content-sha256"]])
    date = headers["X-Amz-Date"]
    scope = f"{date[:8]}/{region}/s3/aws4_request"
    key = b"AWS4" + secret.encode()
    for word in (date[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    signed = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(text.encode()).hexdigest()}"
    return given["Signature"], hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()


class Methods(Handler):
    def do_GET(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        super().do_GET()

    do_PUT = do_POST = do_DELETE = do_GET


class Store(Server):
    """`objects`: key -> bytes, of one bucket. `fault`: a function of the handler and of how often such a
    request was made, which answers instead and returns True."""

    def __init__(self, bucket="models", page=1000):
        super().__init__({})
        self.RequestHandlerClass = Methods
        self.bucket, self.page = bucket, page
        self.objects, self.uploads, self.fault = {}, {}, None
        self.access, self.secret, self.token = ACCESS, SECRET, None
        self.n_uploads, self.knows_conditions = 0, True

    def error(self, handler, status, code, **headers):
        handler.reply(status, f"{HEAD}<Error><Code>{code}</Code><Message>no</Message></Error>".encode(),
                      **headers)

    def xml(self, handler, name, inner):
        space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
        handler.reply(200, f"{HEAD}<{name} {space}>{inner}</{name}>".encode(),
                      Content_Type="application/xml")

    def refusal(self, handler):
        """The status and the code of a request that may not be made; None: it may."""
        headers = handler.headers
        if self.access is None:
            return None if "Authorization" not in headers else (400, "UnexpectedSignature")
        if "Authorization" not in headers:
            return 403, "AccessDenied"
        if f"Credential={self.access}/" not in headers["Authorization"]:
            return 403, "InvalidAccessKeyId"
        if self.token and headers.get("x-amz-security-token") != self.token:
            return 400, "ExpiredToken"
        if f"/{REGION}/s3/" not in headers["Authorization"]:
            return 400, "AuthorizationHeaderMalformed"
        given, right = signature(handler.command, handler.path, headers, self.secret, REGION)
        if given != right:
            return 403, "SignatureDoesNotMatch"
        body = handler.body
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            return 400, "XAmzContentSHA256Mismatch"
        digest = base64.b64encode(hashlib.md5(body).digest()).decode()
        if headers.get("Content-MD5", digest) != digest:
            return 400, "BadDigest"
        return None

    def answer(self, handler, count):
        if self.fault and self.fault(handler, count):
            return
        refused = self.refusal(handler)
        path, _, query = handler.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if refused:
            self.error(handler, *refused)
        elif bucket != self.bucket:
            self.error(handler, 404, "NoSuchBucket")
        elif handler.command == "GET" and not key and "uploads" in query:
            self.list_uploads(handler, query)
        elif handler.command == "GET" and not key:
            self.list(handler, query)
        elif handler.command == "GET" and "uploadId" not in query:
            if key in self.objects:
                handler.send_range(self.objects[key], f'"{hashlib.md5(self.objects[key]).hexdigest()}"')
            else:
                self.error(handler, 404, "NoSuchKey")
        else:
            self.upload(handler, key, query)

    def list(self, handler, query):
        keys = sorted(k for k in self.objects if k.startswith(query["prefix"]))
        after = base64.b64decode(query["continuation-token"]).decode() \
            if "continuation-token" in query else ""
        keys = [k for k in keys if k > after]
        inner = "".join(f"<Contents><Key>{escape(k)}</Key><ETag>&quot;{hashlib.md5(self.objects[k]).hexdigest()}&quot;</ETag>"
                        f"<Size>{len(self.objects[k])}</Size></Contents>" for k in keys[:self.page])
        more = len(keys) > self.page
        if more:
            token = base64.b64encode(keys[self.page - 1].encode()).decode()
            inner += f"<NextContinuationToken>{token}</NextContinuationToken>"
        self.xml(handler, "ListBucketResult", f"<IsTruncated>{str(more).lower()}</IsTruncated>{inner}")

    # ---- uploads ------------------------------------------------------------------------------

    def list_uploads(self, handler, query):
        inner = "".join(f"<Upload><Key>{escape(u['key'])}</Key><UploadId>{i}</UploadId>"
                        "<Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>"
                        for i, u in self.uploads.items() if u["key"].startswith(query["prefix"]))
        self.xml(handler, "ListMultipartUploadsResult", "<IsTruncated>false</IsTruncated>" + inner)

    def upload(self, handler, key, query):
        upload = self.uploads.get(query.get("uploadId"))
        if "uploads" in query:
            self.n_uploads += 1
            self.uploads[f"up+{self.n_uploads}/="] = {"key": key, "parts": {}}
            self.xml(handler, "InitiateMultipartUploadResult",
                     f"<UploadId>up+{self.n_uploads}/=</UploadId>")
        elif "uploadId" not in query and handler.command == "PUT":
            if self.is_taken(handler, key):
                self.error(handler, 412, "PreconditionFailed")
                return
            self.objects[key] = handler.body
            handler.reply(200, ETag=f'"{hashlib.md5(handler.body).hexdigest()}"')
        elif upload is None or upload["key"] != key:
            self.error(handler, 404, "NoSuchUpload")
        elif handler.command == "GET":
            inner = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{hashlib.md5(b).hexdigest()}"
                            f"</ETag><Size>{len(b)}</Size></Part>"
                            for n, b in sorted(upload["parts"].items()))
            self.xml(handler, "ListPartsResult", "<IsTruncated>false</IsTruncated>" + inner)
        elif handler.command == "PUT":
            upload["parts"][int(query["partNumber"])] = handler.body
            handler.reply(200, ETag=f'"{hashlib.md5(handler.body).hexdigest()}"')
        elif handler.command == "DELETE":
            del self.uploads[query["uploadId"]]
            handler.reply(204)
        else:
            self.complete(handler, key, query["uploadId"], upload)

    def complete(self, handler, key, name, upload):
        root = ElementTree.fromstring(handler.body)
        named = [(int(p.findtext("PartNumber")), p.findtext("ETag").strip('"')) for p in root]
        right = [(n, hashlib.md5(b).hexdigest()) for n, b in sorted(upload["parts"].items())]
        if self.is_taken(handler, key):
            self.error(handler, 412, "PreconditionFailed")
        elif named != right:
            self.error(handler, 400, "InvalidPart")
        elif any(len(b) < 5 << 20 for _, b in sorted(upload["parts"].items())[:-1]):
            self.error(handler, 400, "EntityTooSmall")
        else:
            self.objects[key] = b"".join(b for _, b in sorted(upload["parts"].items()))
            del self.uploads[name]
            etag = hashlib.md5(self.objects[key]).hexdigest()
            self.xml(handler, "CompleteMultipartUploadResult", f"<ETag>&quot;{etag}&quot;</ETag>")

    def is_taken(self, handler, key):
        return self.knows_conditions and handler.headers.get("If-None-Match") == "*" and key in self.objects


class Proxy(Server):
    """Hands requests on to a store, but for those that `fault` answers."""

    def __init__(self, port):
        super().__init__({})
        self.RequestHandlerClass = Methods
        self.port, self.fault = port, None

    def answer(self, handler, count):
        if self.fault and self.fault(handler, count):
            return
        there = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        there.request(handler.command, handler.path, handler.body or None,
                      dict(handler.headers))
        said = there.getresponse()
        body = said.read()
        handler.send_response(said.status)
        for name, value in said.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "server", "date", "content-length"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", len(body))
        handler.end_headers()
        handler.wfile.write(body)
        there.close()

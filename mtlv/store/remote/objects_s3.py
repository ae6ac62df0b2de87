"""Objects in S3 and compatible servers, with boto3.

s3fs is not used: its aiobotocore supports only a few releases of botocore, which would restrict the boto3
that MLflow uses, and it runs its own event loop. Only seven calls of S3 are needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mtlv.store.remote.objects import ObjectStoreError, create_maybe, told

CONNECT, READ = 5.0, 30.0  # timeouts of a call in seconds
ATTEMPTS = 2  # of boto3; the caller also retries
AT_ONCE = 1000  # maximum names deleted by one call
DENIED = {
    *("AccessDenied", "403", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"),
    *("AllAccessDisabled", "AccountProblem", "InvalidToken", "TokenRefreshRequired", "Unauthorized"),
}
FULL = {"QuotaExceeded", "ServiceQuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "507"}
BUSY = {
    *("SlowDown", "503", "500", "502", "504", "InternalError", "ServiceUnavailable", "RequestTimeout"),
    *("ThrottlingException", "Throttling", "TooManyRequests", "429", "OperationAborted"),
}
ABSENT = {"NoSuchKey", "404", "NotFound"}
UNKNOWN = {"NotImplemented", "501"}  # servers without conditional writes
THERE = {"PreconditionFailed", "412", "ConditionalRequestConflict", "409"}

ROOM = "free space there or raise its quota; what was written before is complete"
RIGHTS = "check the credentials and their permissions to read, write, list and delete"


def code(error: Any) -> str:
    """Return the S3 code of an error, or the HTTP status."""
    response = getattr(error, "response", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    return str(response.get("Error", {}).get("Code") or status)


def trouble(error: Exception) -> ObjectStoreError:
    """Convert an error of boto3; multipart uploads wrap it."""
    from botocore.exceptions import (
        ClientError,
        ConnectionError,
        HTTPClientError,
        NoCredentialsError,
        PartialCredentialsError,
    )

    inner = error.__context__ if isinstance(error.__context__, ClientError) else error
    if isinstance(inner, ClientError):
        return _of_code(code(inner), inner)
    if isinstance(error, (NoCredentialsError, PartialCredentialsError)):
        then = (
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or assign a role to this machine"
        )
        return ObjectStoreError(error, then)
    if isinstance(error, (ConnectionError, HTTPClientError)):
        then = "check the network, AWS_ENDPOINT_URL and AWS_REGION"
        return ObjectStoreError(f"it does not respond: {error}", then, passing=True)
    return ObjectStoreError(error, RIGHTS)


def _of_code(word: str, text: object) -> ObjectStoreError:
    if word == "NoSuchBucket":
        return ObjectStoreError(
            "the bucket does not exist", "create the bucket, or correct the name in `store.uri`"
        )
    if word in DENIED:
        return ObjectStoreError(f"access is denied: {text}", RIGHTS)
    if word in FULL:
        return ObjectStoreError(f"it is full: {text}", ROOM)
    said = text if word in str(text) else f"{word}: {text}"
    passing = word in BUSY
    return ObjectStoreError(said, "try again later" if passing else RIGHTS, passing=passing)


def _known(error: Exception) -> ObjectStoreError | None:
    """Convert errors raised by boto3 or passed through by it; any other error is a bug."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

    theirs = (BotoCoreError, ClientError, HTTPClientError, Boto3Error, OSError, ValueError)
    return trouble(error) if isinstance(error, theirs) else None


class S3Objects:
    """Object store on S3; see `Objects`.

    Args:
        uri: `s3://bucket/prefix`. Endpoint, region and credentials come from the environment and the files
            that boto3 reads, such as `AWS_ENDPOINT_URL`.
    """

    @told(by=_known)
    def __init__(self, uri: str) -> None:
        import boto3
        from boto3.s3.transfer import TransferConfig
        from botocore.config import Config

        self.bucket, _, prefix = uri.split("://", 1)[1].partition("/")
        self.prefix = prefix.strip("/")
        self.exclusive = True
        config = Config(
            connect_timeout=CONNECT,
            read_timeout=READ,
            retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        )
        self._client = boto3.session.Session().client("s3", config=config)
        self._transfer = TransferConfig(max_concurrency=4)

    @told(by=_known)
    def put(self, name: str, content: bytes) -> None:
        self._client.put_object(**self._at(name), Body=content)

    @told(by=_known)
    def create(self, name: str, content: bytes) -> bool:
        from botocore.exceptions import ClientError

        if not self.exclusive:
            return create_maybe(self, name, content)
        try:
            self._client.put_object(**self._at(name), Body=content, IfNoneMatch="*")
        except ClientError as error:
            if code(error) in THERE:
                return False
            if code(error) not in UNKNOWN:
                raise
            self.exclusive = False
            return create_maybe(self, name, content)
        return True

    @told(by=_known)
    def get(self, name: str) -> bytes | None:
        from botocore.exceptions import ClientError

        try:
            return bytes(self._client.get_object(**self._at(name))["Body"].read())
        except ClientError as error:
            if code(error) in ABSENT:
                return None
            raise

    @told(by=_known)
    def upload(self, name: str, path: Path) -> None:
        self._client.upload_file(str(path), self.bucket, self._key(name), Config=self._transfer)

    @told(by=_known)
    def download(self, name: str, path: Path) -> bool:
        from botocore.exceptions import ClientError

        try:
            self._client.download_file(self.bucket, self._key(name), str(path), Config=self._transfer)
        except ClientError as error:
            if code(error) in ABSENT:
                return False
            raise
        return True

    @told(by=_known)
    def names(self, folder: str) -> dict[str, int]:
        pages = self._client.get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=self.bucket, Prefix=f"{self._key(folder)}/")
        start = len(self.prefix) + 1 if self.prefix else 0
        return {each["Key"][start:]: each["Size"] for page in found for each in page.get("Contents", ())}

    @told(by=_known)
    def delete(self, names: Iterable[str]) -> None:
        keys = [{"Key": self._key(name)} for name in names]
        for start in range(0, len(keys), AT_ONCE):
            wanted = {"Objects": keys[start : start + AT_ONCE], "Quiet": True}
            answer = self._client.delete_objects(Bucket=self.bucket, Delete=wanted)
            for error in answer.get("Errors", ()):
                if error.get("Code") not in ABSENT:
                    raise _of_code(error.get("Code", ""), error.get("Message", ""))

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._key(name)}

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

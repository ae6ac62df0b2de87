"""Make, save or load the bucket of artifacts.

    bucket.py create             make it, if it is not there
    bucket.py save > FILE.tar    write every object to a tar archive
    bucket.py load < FILE.tar    put every object of such an archive into it

Runs in MLflow's image (see docker-compose.yml), which has boto3. Address and keys come from the environment.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tempfile
from typing import Any, BinaryIO

BUCKET = "mlflow"


def client() -> Any:
    """boto3's client of the store that MLflow uses."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=os.environ["MLFLOW_S3_ENDPOINT_URL"],
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 8}),
    )


def create(store: Any) -> None:
    if BUCKET not in [bucket["Name"] for bucket in store.list_buckets()["Buckets"]]:
        store.create_bucket(Bucket=BUCKET)


def save(store: Any, out: BinaryIO) -> int:
    """Number of objects written to `out`, one after the other, so that memory holds none of them whole."""
    count = 0
    with tarfile.open(fileobj=out, mode="w|") as archive:
        for page in store.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
            for entry in page.get("Contents", []):
                member = tarfile.TarInfo(entry["Key"])
                with tempfile.TemporaryFile() as body:
                    store.download_fileobj(BUCKET, entry["Key"], body)
                    member.size, member.mtime = body.tell(), int(entry["LastModified"].timestamp())
                    body.seek(0)
                    archive.addfile(member, body)
                count += 1
    return count


def load(store: Any, source: BinaryIO) -> int:
    """Number of objects read from `source`; one of the same name is replaced."""
    create(store)
    count = 0
    with tarfile.open(fileobj=source, mode="r|") as archive:
        for member in archive:
            with tempfile.TemporaryFile() as body:  # boto3 goes back and forth in what it sends
                shutil.copyfileobj(archive.extractfile(member), body)
                body.seek(0)
                store.upload_fileobj(body, BUCKET, member.name)
            count += 1
    return count


def main(argv: list[str]) -> int:
    store = client()
    if argv == ["create"]:
        create(store)
    elif argv == ["save"]:
        print(f"mtlv: saved {save(store, sys.stdout.buffer)} objects", file=sys.stderr)
    elif argv == ["load"]:
        print(f"mtlv: loaded {load(store, sys.stdin.buffer)} objects", file=sys.stderr)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

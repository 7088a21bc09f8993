"""hashlib, hmac, zlib, lzma, bz2, gzip, base64, binascii, struct, pickle."""
import base64
import binascii
import bz2
import gzip
import hashlib
import hmac
import lzma
import pickle
import struct
import zlib

data = bytes(i * i % 251 for i in range(20000))
for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b"):
    print(name, hashlib.new(name, data).hexdigest()[:32])
print(hmac.new(b"key", data, "sha256").hexdigest(), hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 50).hex())
for module in (zlib, bz2, lzma):
    packed = module.compress(data)
    print(module.__name__, len(packed), binascii.crc32(packed), module.decompress(packed) == data)
print(len(gzip.compress(data, mtime=0)), zlib.adler32(data), base64.b85encode(data[:20]))
print(struct.pack("<hIq3sdf", -2, 7, 1 << 40, b"abc", 1.5, 0.1).hex())
tree = {"k": [(1, 2.5), {"x"}, frozenset([3])], "self": None}
tree["self"] = tree["k"]
for protocol in range(6):
    again = pickle.loads(pickle.dumps(tree, protocol))
    print(protocol, len(pickle.dumps(tree, protocol)), again["self"] is again["k"])

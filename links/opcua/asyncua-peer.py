"""An OPC UA server with the Python library asyncua, as an independent peer for the tests of the link.

The argument is the folder for the server certificate. The server accepts anonymous users without security, and the user
"operator" also with Basic256Sha256. It prints its port, and ends when its standard input is closed.
"""

import asyncio
import logging
import socket
import sys
from datetime import datetime, timezone
from pathlib import Path

from asyncua import Server, ua
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from asyncua.crypto.permission_rules import SimpleRoleRuleset, User, UserRole
from asyncua.server.user_managers import UserManager
from cryptography.x509.oid import ExtendedKeyUsageOID

logging.disable(logging.CRITICAL)
DI = "http://opcfoundation.org/UA/DI/"


class Operators(UserManager):
    def get_user(self, iserver, username=None, password=None, certificate=None):
        if username is None or (username == "operator" and password == "secret of the operator"):
            return User(role=UserRole.User)
        return None


async def add_device_set(server):
    namespace = await server.register_namespace(DI)
    device_set = await server.nodes.objects.add_object(ua.NodeId(5001, namespace), ua.QualifiedName("DeviceSet", namespace))
    device = await device_set.add_object(namespace, "Mixer")
    texts = {"SerialNumber": "MX-0815", "OrderNumber": "MX 100-2", "HardwareRevision": "E3", "SoftwareRevision": "V4.1.0"}
    for name, value in texts.items():
        await device.add_property(namespace, name, value)
    for name, value in {"Manufacturer": "Example Machines", "Model": "Mixer 100"}.items():
        await device.add_property(namespace, name, ua.LocalizedText(value))


async def add_certificate(server, folder, uri):
    certificate, key = folder / "certificate.der", folder / "key.pem"
    await setup_self_signed_certificate(
        key, certificate, uri, "localhost", [ExtendedKeyUsageOID.SERVER_AUTH], {"commonName": "Mixer"}
    )
    await server.load_certificate(str(certificate))
    await server.load_private_key(str(key))


async def main(folder):
    server = Server(user_manager=Operators())
    await server.init()
    uri = "urn:example:mixer"
    await server.set_application_uri(uri)
    server.set_server_name("Mixer of the test")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server.set_endpoint(f"opc.tcp://127.0.0.1:{port}/mixer")
    await add_certificate(server, folder, uri)
    policies = [ua.SecurityPolicyType.NoSecurity, ua.SecurityPolicyType.Basic256Sha256_SignAndEncrypt]
    server.set_security_policy(policies, permission_ruleset=SimpleRoleRuleset())
    server.set_identity_tokens([ua.AnonymousIdentityToken, ua.UserNameIdentityToken])
    built = datetime(2026, 5, 4, tzinfo=timezone.utc)
    await server.set_build_info(uri, "Example Machines", "Mixer server", "1.2.3", "77", built)
    await add_device_set(server)
    async with server:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main(Path(sys.argv[1])))

"""A BACnet device and BBMD of the Python package bacpypes3, for the tests of this link.

Argument: the address with the network mask and port, such as 127.0.68.1/24:47808. Prints "ready", and then the number of
registered foreign devices after each change.
"""

import asyncio
import sys

from bacpypes3.app import Application
from bacpypes3.local.device import DeviceObject
from bacpypes3.local.networkport import NetworkPortObject


async def main():
    device = DeviceObject(
        objectIdentifier=("device", 599),
        objectName="Hall 5",
        vendorIdentifier=999,
        vendorName="Acme",
        modelName="BP-3",
        firmwareRevision="3.1",
        applicationSoftwareVersion="2.0",
        description="Python device",
        location="Lab",
        serialNumber="BP-77",
    )
    port = NetworkPortObject(sys.argv[1], objectIdentifier=("network-port", 1), objectName="Port 1")
    port.bacnetIPMode = "bbmd"
    port.bbmdAcceptFDRegistrations = True
    port.bbmdForeignDeviceTable = []
    port.bbmdBroadcastDistributionTable = []
    app = Application.from_object_list([device, port])
    (link_layer,) = app.link_layers.values()
    print("ready", flush=True)
    known = 0
    while True:
        registered = len(link_layer.bbmdFDT)
        if registered != known:
            print(registered, flush=True)
        known = registered
        await asyncio.sleep(0.01)


asyncio.run(main())

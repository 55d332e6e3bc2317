# A PROFINET device that scapy encodes, for a test. It answers to each Identify frame and to requests for records, prints
# their fields as scapy decodes them, and sends LLDP frames. Argument: the network interface.
import socket
import sys
import threading

from scapy.all import AsyncSniffer, Ether, conf, get_if_hwaddr, sendp
from scapy.contrib import lldp, pnio_dcp, pnio_rpc
from scapy.contrib.pnio import ProfinetIO
from scapy.layers.dcerpc import DceRpc4

conf.verb = 0
interface = sys.argv[1]
mac = get_if_hwaddr(interface)


def answer(frame):
    request = frame[pnio_dcp.ProfinetDCP]
    print(
        f"request {frame.dst} {frame[ProfinetIO].frameID:04x} {request.service_id} {request.service_type} {request.xid:08x} "
        f"{request.reserved} {request.dcp_data_length} {request.option} {request.sub_option} {request.dcp_block_length}",
        flush=True,
    )
    # scapy pads each block unless its padding is empty, and does not compute the length of blocks with a fixed size.
    fixed = {"dcp_block_length": 6, "padding": b""}
    blocks = [
        pnio_dcp.DCPNameOfStationBlock(name_of_station="scapy-io.hall-3"),
        pnio_dcp.DCPManufacturerSpecificBlock(dcp_block_length=13, device_vendor_value="Test statio"),
        pnio_dcp.DCPDeviceIDBlock(vendor_id=0x011D, device_id=0x0315, **fixed),
        pnio_dcp.DCPDeviceRoleBlock(device_role_details=1, padding=b""),
        pnio_dcp.DCPAliasNameBlock(alias_name="port-001.scapy", padding=b""),
        pnio_dcp.DCPDeviceInstanceBlock(padding=b""),
        pnio_dcp.DCPOEMIDBlock(vendor_id=0x0101, device_id=0x0022, **fixed),
        pnio_dcp.DCPIPBlock(
            dcp_block_length=14, block_info=1, ip="10.78.0.10", netmask="255.255.255.0", gateway="10.78.0.1", padding=b""
        ),
    ]
    header = pnio_dcp.ProfinetDCP(
        service_id=pnio_dcp.DCP_SERVICE_ID_IDENTIFY,
        service_type=pnio_dcp.DCP_RESPONSE,
        xid=request.xid,
        dcp_data_length=sum(len(bytes(block)) for block in blocks),
        dcp_blocks=blocks,
    )
    identifier = ProfinetIO(frameID=pnio_dcp.DCP_IDENTIFY_RESPONSE_FRAME_ID)
    sendp(Ether(dst=frame.src, src=mac, type=0x8892) / identifier / header, iface=interface)


def is_identify(frame):
    return ProfinetIO in frame and frame[ProfinetIO].frameID == pnio_dcp.DCP_IDENTIFY_REQUEST_FRAME_ID


def serve_records():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("10.78.0.10", 34964))
    while True:
        datagram, sender = server.recvfrom(2000)
        call = DceRpc4(datagram)
        read = call[pnio_rpc.PNIOServiceReqPDU].blocks[0]
        print(
            f"read {call.object} {call.opnum} {read.slotNumber} {read.subslotNumber} {read.index:04x} {read.recordDataLength}",
            flush=True,
        )
        answer = DceRpc4(ptype=2, endian="little", object=call.object, if_id=call.if_id, act_id=call.act_id)
        answer.seqnum, answer.opnum = call.seqnum, call.opnum
        if read.index == 0xAFF0:
            nameplate = pnio_rpc.IM0Block(VendorIDHigh=0x01, VendorIDLow=0x1D, OrderID=b"750-375".ljust(20))
            nameplate.IMSerialNumber = b"SN-4711".ljust(16)
            nameplate.IMSWRevisionFunctionalEnhancement = 1
            nameplate.IMSWRevisionBugFix = 2
            nameplate.IMSWRevisionInternalChange = 3
            response = read.get_response()
            response.recordDataLength = len(bytes(nameplate))
            body = pnio_rpc.PNIOServiceResPDU(status=0, blocks=[response, nameplate])
        else:
            body = pnio_rpc.PNIOServiceResPDU(status=0xDE80B000, blocks=[])
        server.sendto(bytes(answer / body), sender)


threading.Thread(target=serve_records, daemon=True).start()
announcement = (
    Ether(dst="01:80:c2:00:00:0e", src=mac)
    / lldp.LLDPDUChassisID(subtype=4, id=mac)
    / lldp.LLDPDUPortID(subtype=7, id=b"port-001")
    / lldp.LLDPDUTimeToLive(ttl=20)
    / lldp.LLDPDUSystemName(system_name=b"scapy-io")
    / lldp.LLDPDUSystemDescription(description=b"Scapy test station")
    / lldp.LLDPDUEndOfLLDPDU()
)
sniffer = AsyncSniffer(
    iface=interface,
    lfilter=is_identify,
    prn=answer,
    started_callback=lambda: print("ready", flush=True),
)
sniffer.start()
while True:
    sendp(announcement, iface=interface)
    sniffer.thread.join(0.5)
    if not sniffer.thread.is_alive():
        break

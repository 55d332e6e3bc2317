/**
 * Manufacturers by their PROFINET vendor id, with the short names that all links use.
 *
 * Source: the vendor ids in the device descriptions (GSDML files) that the manufacturers publish for their devices. Date:
 * 2026-11-18.
 */
const manufacturers: ReadonlyMap<number, string> = new Map([
  [0x0011, 'Endress+Hauser'],
  [0x001a, 'ABB'],
  [0x002a, 'Siemens'],
  [0x0037, 'Yokogawa'],
  [0x0042, 'Samson'],
  [0x0045, 'Krohne'],
  [0x005d, 'Pepperl+Fuchs'],
  [0x0062, 'VEGA'],
  [0x0080, 'Danfoss'],
  [0x0083, 'SMC'],
  [0x00b0, 'Phoenix Contact'],
  [0x0101, 'SICK'],
  [0x0105, 'Kollmorgen'],
  [0x0106, 'Lenze'],
  [0x010a, 'SEW-Eurodrive'],
  [0x010c, 'HMS Networks'],
  [0x011d, 'WAGO'],
  [0x011e, 'Hilscher'],
  [0x011f, 'Bosch Rexroth'],
  [0x0120, 'Beckhoff'],
  [0x0122, 'Tucker'],
  [0x012f, 'Murrelektronik'],
  [0x0134, 'Weidmüller'],
  [0x0135, 'EUCHNER'],
  [0x0136, 'ifm'],
  [0x0137, 'Cognex'],
  [0x013d, 'Turck'],
  [0x014d, 'Festo'],
  [0x0152, 'Leuze'],
  [0x0153, 'TR-Electronic'],
  [0x015b, 'SensoPart'],
  [0x015d, 'esd electronics'],
  [0x0161, 'Siebert'],
  [0x0170, 'Matuschek'],
  [0x0173, 'KEBA'],
  [0x0193, 'HARTING'],
  [0x0194, 'HWH'],
  [0x019b, 'KUKA'],
  [0x019c, 'Datalogic'],
  [0x01a5, 'Norgren'],
  [0x01b0, 'Fronius'],
  [0x01b7, 'FANUC'],
  [0x01be, 'PRIMES'],
  [0x01c0, 'VITRONIC'],
  [0x01db, 'Perceptron'],
  [0x01e3, 'ABICOR BINZEL'],
  [0x01e9, 'TOX Pressotechnik'],
  [0x01ef, 'Promess'],
  [0x01fd, 'Keyence'],
  [0x0200, 'JVL'],
  [0x023f, 'Kistler'],
  [0x028d, 'Scansonic'],
  [0x0293, 'Janitza'],
  [0x02b3, 'Vahle'],
  [0x02d9, 'Fortress'],
  [0x0361, 'Universal Robots'],
  [0x0377, 'B&R'],
  [0x0378, 'Balluff'],
  [0x0379, 'AMK'],
  [0x03b0, 'ABB'],
  [0x092f, 'Pilz'],
  [0x1240, 'Deutschmann Automation'],
])

/** Returns the manufacturer of a vendor id, or undefined if it is not in the table. */
export function vendorName(vendorId: number | undefined): string | undefined {
  return vendorId === undefined ? undefined : manufacturers.get(vendorId)
}

/** Returns an id of PROFINET in its usual form, such as `0x002A`. */
export function idText(id: number): string {
  return `0x${id.toString(16).toUpperCase().padStart(4, '0')}`
}

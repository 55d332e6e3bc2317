/**
 * The types of devices by their number in the identity object, in plain words.
 *
 * Source: device profiles of volume 1 of the CIP Networks Library. Date: 2026-11-18.
 */
export const deviceTypes: ReadonlyMap<number, string> = new Map([
  [0, 'Generic device'],
  [2, 'AC drive'],
  [3, 'Motor overload relay'],
  [4, 'Limit switch'],
  [5, 'Inductive proximity switch'],
  [6, 'Photoelectric sensor'],
  [7, 'Discrete I/O device'],
  [9, 'Resolver'],
  [12, 'Communications adapter'],
  [14, 'Programmable logic controller'],
  [16, 'Position controller'],
  [19, 'DC drive'],
  [21, 'Contactor'],
  [22, 'Motor starter'],
  [23, 'Soft starter'],
  [24, 'Human-machine interface'],
  [26, 'Mass flow controller'],
  [27, 'Pneumatic valve'],
  [28, 'Vacuum pressure gauge'],
  [29, 'Process control valve'],
  [30, 'Residual gas analyzer'],
  [31, 'DC power generator'],
  [32, 'RF power generator'],
  [33, 'Turbomolecular vacuum pump'],
  [34, 'Encoder'],
  [35, 'Safety discrete I/O device'],
  [36, 'Fluid flow controller'],
  [37, 'CIP Motion drive'],
  [38, 'CompoNet repeater'],
  [39, 'Enhanced mass flow controller'],
  [40, 'CIP Modbus device'],
  [41, 'CIP Modbus translator'],
  [42, 'Safety analog I/O device'],
  [43, 'Generic device'],
  [44, 'Managed Ethernet switch'],
  [45, 'CIP Motion safety drive'],
  [46, 'Safety drive'],
  [47, 'CIP Motion encoder'],
  [48, 'CIP Motion converter'],
  [49, 'CIP Motion I/O device'],
  [50, 'ControlNet physical layer component'],
  [200, 'Embedded component'],
])

/** The type of adapters that connect a backplane with a network. */
export const communicationsAdapter = 12
export const controller = 14

/** Returns the type of a device in words. Returns undefined for numbers that are not in the table. */
export function deviceTypeName(deviceType: number): string | undefined {
  return deviceTypes.get(deviceType)
}

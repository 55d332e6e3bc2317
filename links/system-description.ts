/**
 * This file reads product data from the description of a system, which SNMP (`sysDescr`) and LLDP contain. The text has no
 * format, so only texts of manufacturers with a stable form are read. Each form applies to the enterprise numbers of its
 * manufacturer.
 *
 * The forms follow published examples of the texts, and were not checked on devices (Siemens SIMATIC NET, Cisco IOS, Aruba and HP
 * ProCurve, Juniper Junos, APC network management cards, MikroTik RouterOS). Date: 2026-11-17.
 */
const forms: readonly { enterprises: readonly number[]; form: RegExp }[] = [
  {
    // Siemens, SIMATIC NET, SCALANCE X208, 6GK5 208-0BA10-2AA3, HW: Version 4, FW: Version V4.03, SVPL6147920
    // The letter S before the serial number is its data identifier.
    enterprises: [4196, 4329],
    form: /^Siemens, (?<family>[^,]+), (?<product>[^,]+), (?<orderNumber>6[A-Z0-9]{3} ?[^,]+), HW: ?(?:Version )?(?<hardware>[^,]+), FW: ?(?:Version )?(?<firmware>[^,]+)(?:, S ?(?<serial>[A-Z0-9-]{6,}))?/,
  },
  {
    // Cisco IOS Software, IE2000 Software (IE2000-UNIVERSALK9-M), Version 15.2(4)EA5, RELEASE SOFTWARE (fc2)
    enterprises: [9],
    form: /^Cisco .*?, (?<product>\S+) Software \([^)]+\), (?:Experimental )?Version (?<firmware>[^\s,]+)/,
  },
  {
    // HP J9773A 2530-24G-PoEP Switch, revision YA.16.02.0012, ROM YA.15.19
    enterprises: [11, 47196],
    form: /^(?:HPE?|Aruba|ProCurve|HP ProCurve) (?<orderNumber>J[A-Z]?\w{4,5}) (?<product>[^,]+), revision (?<firmware>[^\s,]+)/,
  },
  {
    // Juniper Networks, Inc. ex2200-24t-4g Ethernet Switch, kernel JUNOS 12.3R12.4, Build date: 2016-01-20
    enterprises: [2636],
    form: /^Juniper Networks, Inc\. (?<product>\S+) .*?kernel JUNOS (?<firmware>[^\s,]+)/,
  },
  {
    // APC Web/SNMP Management Card (MB:v4.1.0 PF:v6.8.2 ... MN:AP9631 HR:05 SN: ZA1234005678 MD:01/01/2012)
    enterprises: [318],
    form: /^APC (?<product>[^(]{1,100}) \([^)]{0,200}?PF: ?v?(?<firmware>[\w.]{1,32}) [^)]{0,200}?MN: ?(?<orderNumber>[\w.-]{1,32}) HR: ?(?<hardware>[\w.]{1,32}) SN: ?(?<serial>[\w-]{1,32})/,
  },
  { enterprises: [14988], form: /^RouterOS (?<product>\S+)/ },
]

/** `ProductData` contains what a text states about the product. */
type ProductData = {
  family?: string | undefined
  product?: string | undefined
  orderNumber?: string | undefined
  serial?: string | undefined
  hardware?: string | undefined
  firmware?: string | undefined
}

export function productDataOf(enterprise: number | undefined, description: string | undefined): ProductData {
  if (enterprise === undefined || description === undefined) return {}
  const { form } = forms.find(({ enterprises }) => enterprises.includes(enterprise)) ?? {}
  const parts = Object.entries(form?.exec(description)?.groups ?? {})
  return Object.fromEntries(parts.map(([name, text]) => [name, text?.trim()]))
}

/** An OID has at most 128 parts (RFC 3416 section 2.1). */
const mostParts = 128

export function isOid(text: string): boolean {
  return /^\d{1,10}(\.\d{1,10})*$/.test(text) && text.split('.').length <= mostParts
}

/** Returns a negative number if `one` is before `other` in the order of SNMP, and 0 if they are equal. */
export function compareOids(one: string, other: string): number {
  const [a, b] = [one.split('.'), other.split('.')]
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const difference = Number(a[index]) - Number(b[index])
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Returns the part of an OID below a base, such as `7.1` for 1.3.6.7.1 below 1.3.6. Returns undefined for other OIDs. */
export function indexBelow(base: string, oid: string): string | undefined {
  return oid.startsWith(`${base}.`) ? oid.slice(base.length + 1) : undefined
}

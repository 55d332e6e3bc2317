/** The prefix of the names of gateways as authors of changes. */
const gatewayPrefix = 'gateway '

/** Returns the name of an author. The inventory stores the author `gateway Hall 3` for the gateway `Hall 3`. */
export function authorName(stored: string): string {
  if (!stored.startsWith(gatewayPrefix)) return stored
  const name = stored.slice(gatewayPrefix.length)
  return /^gateway\b/i.test(name) ? name : `Gateway ${name}`
}

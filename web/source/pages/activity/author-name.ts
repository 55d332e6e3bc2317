import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { ActivityText } from './messages.ts'
import type { SentencePart } from './sentence-part.ts'

/** The prefix of the names of gateways as authors of changes. */
const gatewayPrefix = 'gateway '

/** Returns whether the author of a change is a gateway. */
export function isGatewayAuthor(stored: string): boolean {
  return stored.startsWith(gatewayPrefix)
}

/** Returns the name of an author. The inventory stores the author `gateway Hall 3` for the gateway `Hall 3`. */
export function authorName(stored: string): string {
  if (!isGatewayAuthor(stored)) return stored
  const name = stored.slice(gatewayPrefix.length)
  return /^gateway\b/i.test(name) ? name : `Gateway ${name}`
}

/** The kinds of entities whose pages show principals, by the kind of the principal. */
const pageKinds: Readonly<Record<string, string>> = { user: 'user', server_user: 'server-user', gateway: 'gateway' }

/** Returns the author of an entry as the subject of its sentence. A service account is marked. */
export function authorPart(
  {
    principal,
    principalName,
    principalKind = '',
  }: Pick<ActivityEntry, 'principal' | 'principalName' | 'principalKind'>,
  text: ActivityText,
): SentencePart {
  const note = principalKind === 'server_user' ? { note: text.serviceAccount } : {}
  const kind = pageKinds[principalKind]
  const subject = principal === null || kind === undefined ? {} : { subject: `${kind}/${principal}` }
  return { text: authorName(principalName) || text.system, role: 'who', ...note, ...subject }
}

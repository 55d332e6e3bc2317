export type SignInName = { name: string; tenant: string }

const shape = /^([a-z0-9][a-z0-9._-]{0,62})(?:@([a-z0-9][a-z0-9-]{0,62}))?$/

/** Parses `name@tenant`. Without a suffix, the tenant is `default`. Returns `undefined` for an invalid name. */
export function readSignInName(text: string): SignInName | undefined {
  const match = shape.exec(text.trim().toLowerCase())
  return match?.[1] === undefined ? undefined : { name: match[1], tenant: match[2] ?? 'default' }
}

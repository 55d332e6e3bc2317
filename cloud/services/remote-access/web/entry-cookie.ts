/**
 * The cookie with which a browser proves that it entered a session. It contains the tenant, because the host name does
 * not contain it, and a random secret. The database stores only its digest. Devices can neither read nor set this cookie.
 */
import { createHash, randomBytes } from 'node:crypto'

/** Over https, the prefix `__Host-` prevents another host from setting the cookie. */
const secureName = '__Host-millwright-remote'
const plainName = 'millwright-remote'
const ownNames = [secureName, plainName].map((name) => name.toLowerCase())
const secretBytes = 32
const valuePattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.[\w-]{43}$/
/** The maximum number of values of the cookie that are checked. Another host may have added values that are not valid. */
const maxValues = 4

export type Entry = { tenantId: string; digest: Buffer }

/** Creates the value of a new cookie. */
export function createEntry(tenantId: string): Entry & { value: string } {
  const value = `${tenantId}.${randomBytes(secretBytes).toString('base64url')}`
  return { tenantId, value, digest: digestOf(value) }
}

export function entryCookie(value: string, { isSecure }: { isSecure: boolean }): string {
  const attributes = '; Path=/; HttpOnly; SameSite=Lax'
  return isSecure ? `${secureName}=${value}${attributes}; Secure` : `${plainName}=${value}${attributes}`
}

/** Returns the entries in the header `Cookie`. The caller checks whether they exist. */
export function entriesIn(header: string | undefined, { isSecure }: { isSecure: boolean }): Entry[] {
  const wanted = isSecure ? secureName : plainName
  return pairsOf(header ?? '')
    .filter(({ name }) => name === wanted)
    .slice(0, maxValues)
    .flatMap(({ value }) => {
      const tenantId = valuePattern.exec(value)?.[1]
      return tenantId === undefined ? [] : [{ tenantId, digest: digestOf(value) }]
    })
}

function digestOf(value: string): Buffer {
  return createHash('sha256').update(value).digest()
}

/** Returns the header `Cookie` for the device. Returns undefined if no cookie of the device is left. */
export function deviceCookies(header: string): string | undefined {
  const others = pairsOf(header).filter(({ name, value }) => !isOwn(name, value))
  return others.length === 0 ? undefined : others.map(({ text }) => text).join('; ')
}

/**
 * Returns the header `Set-Cookie` of a device for the browser. The cookie is valid only for the host of the session.
 * Returns undefined for a cookie that would replace the cookie of the platform. Browsers refuse cookies with `Secure`
 * over http, so the attribute is removed if the session is not https.
 */
export function browserCookie(header: string, { isSecure }: { isSecure: boolean }): string | undefined {
  const [pair = '', ...attributes] = header.split(';')
  const [own] = pairsOf(pair)
  if (own === undefined || isOwn(own.name, own.value)) return undefined
  const kept = attributes
    .map((attribute) => attribute.trim())
    .filter((attribute) => {
      const name = attribute.split('=', 1)[0]?.trim().toLowerCase() ?? ''
      if (name === 'domain') return false
      return isSecure || (name !== 'secure' && name !== 'partitioned')
    })
    .map((attribute) => (!isSecure && /^samesite\s*=\s*none$/i.test(attribute) ? 'SameSite=Lax' : attribute))
  return [pair.trim(), ...kept].join('; ')
}

type Pair = { name: string; value: string; text: string }

function pairsOf(header: string): Pair[] {
  return header
    .split(';')
    .map((part) => part.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const equals = text.indexOf('=')
      return { name: text.slice(0, Math.max(equals, 0)).trim(), value: text.slice(equals + 1).trim(), text }
    })
}

/** Browsers send a cookie without a name as its value. So the value can look like a name and a value. */
function isOwn(name: string, value: string): boolean {
  if (name !== '') return ownNames.includes(name.toLowerCase())
  return ownNames.includes(value.split('=', 1)[0]?.trim().toLowerCase() ?? '')
}

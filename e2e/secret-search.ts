import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the encodings in which an attacker could find a secret in stolen data: plain text, UTF-16, hexadecimal, and
 * base64 at any offset.
 */
function formsOf(secret: string | Buffer): Map<string, Buffer> {
  const bytes = Buffer.from(secret)
  const wide = Buffer.from(bytes.toString('latin1'), 'utf16le')
  const forms = new Map<string, Buffer>([
    ['as it is', bytes],
    ['utf16', wide],
    ['utf16, big endian', Buffer.from(wide).swap16()],
    ['hexadecimal', Buffer.from(bytes.toString('hex'))],
    ['hexadecimal, upper case', Buffer.from(bytes.toString('hex').toUpperCase())],
  ])
  for (const shift of [0, 1, 2]) {
    // The outer base64 characters are left out, because they also depend on the bytes before and after the secret.
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const inside = text.slice(shift === 0 ? 0 : 4, Math.floor((shift + bytes.length) / 3) * 4)
    forms.set(`base64, offset ${shift}`, Buffer.from(inside))
    forms.set(`base64url, offset ${shift}`, Buffer.from(inside.replaceAll('+', '-').replaceAll('/', '_')))
  }
  return forms
}

type Secrets = readonly (string | Buffer)[]

/** Returns the index of each secret that the bytes contain, together with the encoding of the secret. */
export function secretsHeldBy(bytes: Buffer, secrets: Secrets): string[] {
  return secrets.flatMap((secret, index) =>
    [...formsOf(secret)].filter(([, form]) => bytes.includes(form)).map(([name]) => `${index}, ${name}`),
  )
}

/**
 * Searches all files below a folder. For each secret in a file, returns the path of the file and the result of
 * `secretsHeldBy`.
 */
export function secretsInFiles(folder: string, secrets: Secrets): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.flatMap(({ parentPath, name }) => {
    const file = join(parentPath, name)
    return secretsHeldBy(readFileSync(file), secrets).map((held) => `${file}: ${held}`)
  })
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** As somebody would look for it who has a copy: as it is, as wide characters, in hexadecimal, in base64 at any place. */
function formsOf(secret: string | Buffer): Map<string, Buffer> {
  const bytes = Buffer.from(secret)
  const wide = Buffer.from(bytes.toString('latin1'), 'utf16le')
  const forms = new Map<string, Buffer>([
    ['as it is', bytes],
    ['utf16', wide],
    ['utf16, the other way round', Buffer.from(wide).swap16()],
    ['hexadecimal', Buffer.from(bytes.toString('hex'))],
    ['hexadecimal, upper case', Buffer.from(bytes.toString('hex').toUpperCase())],
  ])
  for (const shift of [0, 1, 2]) {
    // What stands before and after the secret changes the characters at its ends.
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const inside = text.slice(shift === 0 ? 0 : 4, Math.floor((shift + bytes.length) / 3) * 4)
    forms.set(`base64, moved by ${shift}`, Buffer.from(inside))
    forms.set(`base64url, moved by ${shift}`, Buffer.from(inside.replaceAll('+', '-').replaceAll('/', '_')))
  }
  return forms
}

type Secrets = readonly (string | Buffer)[]

/** Which of the secrets are in there, by their place in the list, and in which forms. */
export function secretsHeldBy(bytes: Buffer, secrets: Secrets): string[] {
  return secrets.flatMap((secret, index) =>
    [...formsOf(secret)].filter(([, form]) => bytes.includes(form)).map(([name]) => `${index}, ${name}`),
  )
}

/** The same for every file below a folder. */
export function secretsInFiles(folder: string, secrets: Secrets): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.flatMap(({ parentPath, name }) => {
    const file = join(parentPath, name)
    return secretsHeldBy(readFileSync(file), secrets).map((held) => `${file}: ${held}`)
  })
}

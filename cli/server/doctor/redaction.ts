import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Settings } from '@millwright/cloud/platform/configuration.ts'

/** The replacement of a secret. */
const mask = '***'

/** Shorter values are not replaced, because they also occur in other words and numbers. */
const shortestSecret = 6

/** Names of environment variables whose values are secrets, also of other programs. */
const secretVariable =
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PASS|_PWD|_KEY|_DSN|CREDENTIALS?|COMMUNITY|HEADERS)$/

/** Values that are secrets because of their form. */
const forms: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bmws_[\w-]{8,}/g,
  /\bwhsec_[\w+/=-]{8,}/g,
  /(?<![\w-])eyJ[\w-]{6,}(?:\.[\w-]+){1,4}/g,
  /\$argon2(?:id|i|d)\$[^\s"']+/g,
  /\$2[aby]\$\d\d\$[./\w]{20,}/g,
  /\bhv[sbr]\.[\w-]{16,}/g,
]

/** The end of a private key whose start is not in the text, because only the end of a file was read. */
const cutKey = /^(?:(?!-----BEGIN)[\s\S])*?-----END [A-Z ]*PRIVATE KEY-----/

/** A header with credentials. Its value ends with the line or the quotes. */
const headers = /\b((?:proxy-)?authorization|(?:set-)?cookie)(\s*[:=]\s*)(?![\s"'[{])[^\r\n"']+/gi

/** The scheme of an Authorization header. The credentials follow. */
const schemes = /\b(Bearer|DPoP|Basic|Negotiate)(\s+)[\w.~+/=-]{6,}/gi

/** The user and the password in a URL. A user without a password can be a token. */
const urlPassword = /(:\/\/[^\s:@/"'?#]*):[^\s@/"']+@/g
const urlUser = /(:\/\/)[^\s:@/"'?#]+@/g

/** A parameter of a URL that often contains a key or a signature. */
const urlParameter = /([?&](?:key|sig|signature|code|auth|pwd|pass|access|sas|hmac)=)[^\s&"'#]+/gi

/** A URL after its scheme, and a part of its path with the form of a key. The URLs of webhooks of many services contain one. */
const urlRest = /:\/\/[^\s"'<>\\]+/g
const pathKey = /\/(?=[^/?#]*\d)(?=[^/?#]*[A-Za-z])[\w-]{20,}(?=[/?#]|$)/g

/** A password in a statement or in the arguments of a program. */
const spacedValue = /(\bpassword|--(?:password|token|secret|pass))(\s+)(?:'[^']*'|[^\s"'=:]+)/gi

/**
 * A field or parameter whose name shows that its value is a secret. The value may be an array, an object, or in quotes, also in
 * a JSON text inside of a JSON text: then the quotes have backslashes, and the closing quote has as many as the opening one.
 * The expression starts with a word and not with any number of characters before it. Otherwise, its time would grow with
 * the square of the length of a word.
 */
const secretName =
  'pass(?:word|wd|phrase|code)|pwd|secret|token|community|(?:api|access|private|signing|encryption|master|auth|priv|secret|shared)[_-]?key|psk|signature|authorization|cookies?|credentials?'
const namedValue = new RegExp(
  String.raw`((?:${secretName})(?:s|[_-]?(?:value|text|hash|plain|base64|hex))?\\*["']?\s*[:=]\s*)((\\+)"[\s\S]*?(?<!\\)\3"|"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\[[^[\]]*\]|\{[^{}]*\}|[^\s,;&"'}\]\\]+)`,
  'gi',
)

type RedactionSources = {
  environment: Readonly<Record<string, string | undefined>>
  settings: Settings
  /** The folders whose files contain secrets. */
  home: string | undefined
  masterKeyFile: string | undefined
  vaultTokenFile: string | undefined
}

/**
 * `Redaction` removes secrets from texts: the known secrets of this installation in several encodings, and everything that
 * has the form or the name of a secret. It removes too much rather than too little.
 */
export class Redaction {
  readonly #known: readonly string[]

  constructor(secrets: Iterable<string>) {
    const values = new Set([...secrets].map((text) => text.trim()).filter((text) => text.length >= shortestSecret))
    // Longer texts are replaced first, because one secret can contain another.
    this.#known = [...new Set([...values].flatMap(encodingsOf))].toSorted((a, b) => b.length - a.length)
  }

  /** Reads the secrets of this installation from its environment and its files. */
  static async open({ environment, settings, home, ...files }: RedactionSources): Promise<Redaction> {
    const secrets = secretsOf(environment, settings)
    const paths = [files.masterKeyFile, files.vaultTokenFile].filter((path) => path !== undefined)
    if (home !== undefined) paths.push(join(home, 'master.key'), join(home, 'first-run.json'))
    for (const path of paths) secrets.push(...wordsOf(await readFile(resolve(path), 'utf8').catch(() => '')))
    return new Redaction(secrets)
  }

  apply(text: string): string {
    let result = text
    for (const secret of this.#known) result = result.replaceAll(secret, mask)
    result = result.replace(cutKey, mask)
    for (const form of forms) result = result.replace(form, mask)
    return result
      .replace(headers, `$1$2${mask}`)
      .replace(schemes, `$1$2${mask}`)
      .replace(urlPassword, `$1:${mask}@`)
      .replace(urlUser, (user, start: string) => (user.includes(mask) ? user : `${start}${mask}@`))
      .replace(urlParameter, `$1${mask}`)
      .replace(urlRest, (rest) => rest.replace(pathKey, `/${mask}`))
      .replace(spacedValue, `$1$2${mask}`)
      .replace(namedValue, (_, name: string, value: string) => `${name}${quoteOf(value)}${mask}${quoteOf(value)}`)
  }
}

function secretsOf(environment: RedactionSources['environment'], settings: Settings): string[] {
  const secretNames = Object.values(settings).flatMap(({ secret, variable }) => (secret === true ? [variable] : []))
  return Object.entries(environment).flatMap(([name, value = '']) => {
    const [, password = ''] = /:\/\/[^:@/\s]*:([^@\s]+)@/.exec(value) ?? []
    const inUrl = password === '' ? [] : [password, decoded(password)]
    const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(value) && password === ''
    if (!secretNames.includes(name) && (!secretVariable.test(name) || isUrl)) return inUrl
    const parts = value.split(',').flatMap((part) => [part, part.slice(part.indexOf('=') + 1)])
    return [...inUrl, value, ...parts, ...parts.map(decoded)]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the words of a file with secrets that can be secrets: no names of fields, and no addresses. */
function wordsOf(text: string): string[] {
  return text.split(/[\s",{}]+/).filter((word) => word.length >= 8 && !/[:/]$|^https?:/.test(word) && !isName(word))
}

/** Returns whether a word is a name of the file `first-run.json` or an id. These are not secret. */
function isName(word: string): boolean {
  return /^[a-zA-Z]+:?$/.test(word) || /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(word) || /^[a-z]+@[a-z-]+$/.test(word)
}

/** Returns a secret as it can be in a text: as it is, in JSON, in a URL, and its bytes in hexadecimal and base64. */
function encodingsOf(secret: string): string[] {
  const texts = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
  texts.push(...encodedBytes(Buffer.from(secret)))
  // A key in base64 can also be printed as its bytes.
  if (/^[\w+/-]{22,}={0,2}$/.test(secret)) texts.push(...encodedBytes(Buffer.from(secret, 'base64')))
  return texts.filter((text) => text.length >= shortestSecret)
}

/** Returns bytes in hexadecimal, and in base64 at any offset. */
function encodedBytes(bytes: Buffer): string[] {
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((shift) => {
    // The outer characters also depend on the bytes before and after the secret.
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return text.slice(shift === 0 ? 0 : 4, Math.floor((shift + bytes.length) / 3) * 4)
  })
  return [hex, hex.toUpperCase(), ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))]
}

function quoteOf(value: string): string {
  return /^\\*["']/.exec(value)?.[0] ?? ''
}

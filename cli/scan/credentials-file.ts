import { open } from 'node:fs/promises'
import { isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import type { Credential } from '@millwright/gateway/job-credentials.ts'
import { type BuiltInLink, manifestOf } from '@millwright/links/catalogue.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'

type FileCredential = { fits: (link: BuiltInLink, address: string) => boolean; credential: Credential }

const fileForm = 'Use a list such as [{ "link": "snmp", "ranges": ["10.0.0.0/24"], "values": { … } }].'

/**
 * Reads the credentials of a scan. Throws a usage error that names the entry and the field if values do not match a
 * credential schema of their link, before anything is sent.
 */
export async function readCredentials(
  terminal: Terminal,
  file: string | undefined,
  { links, known }: { links: readonly BuiltInLink[]; known: readonly BuiltInLink[] },
): Promise<FileCredential[]> {
  if (file === undefined) return []
  const text = file === '-' ? await terminal.input() : await readOwnFile(file)
  const entries = parseEntries(text)
  const [{ Secret }, { matchSchema }] = await Promise.all([
    import('@millwright/gateway/secret.ts'),
    import('@millwright/gateway/local-scan/credential-values.ts'),
  ])
  return Promise.all(
    entries.map(async ({ link: name, ranges, values }, index) => {
      const link = known.find((one) => one.name === name)
      const schemas = link === undefined ? [] : ((await manifestOf(link)).credentialSchemas ?? [])
      const match = matchSchema(schemas, values)
      const refuse = (reason: string) => usageError(`Entry ${index + 1} of the credentials: ${reason}.`, fileForm)
      if (link === undefined || match === undefined) throw refuse(`the link "${name}" has no credentials`)
      if ('fault' in match) throw refuse(match.fault)
      for (const range of ranges) requireRange(range)
      const parsed = ranges.flatMap((range) => parseIpRange(range) ?? [])
      const secret = new Secret(JSON.stringify(values))
      return {
        fits: (one: BuiltInLink, address: string) =>
          one === link && links.includes(one) && isInRanges(parsed, numberOfAddress(address) ?? -1),
        credential: { instanceId: `entry ${index + 1}`, schemaUri: match.uri, secret },
      }
    }),
  )
}

/** Reads a file that only its owner can read. The checks apply to the opened file, which another user cannot replace. */
async function readOwnFile(file: string): Promise<string> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be read (${error.code}).`)
  })
  await using _ = handle
  const { mode, uid } = await handle.stat()
  if (mode & 0o077) throw usageError(`Other users can read ${file}.`, `chmod 600 ${file}`)
  const user = process.getuid?.() ?? uid
  if (uid !== user) throw usageError(`${file} belongs to another user.`, `copy the file, and use chmod 600 on the copy`)
  return handle.readFile('utf8')
}

type Entry = { link: string; ranges: string[]; values: object }

/** Parses the file. Error messages contain no part of the file, because it contains secrets. */
function parseEntries(text: string): Entry[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    throw usageError('The credentials are not JSON.', fileForm)
  }
  if (Array.isArray(entries) && entries.every(isEntry)) return entries
  throw usageError('The credentials do not have the required form.', fileForm)
}

function isEntry(value: unknown): value is Entry {
  const { link, ranges, values } = (value ?? {}) as Partial<Entry>
  const isText = (text: unknown) => typeof text === 'string'
  return isText(link) && Array.isArray(ranges) && ranges.every(isText) && typeof values === 'object' && values !== null
}

export function requireRange(text: string): void {
  if (parseIpRange(text) === undefined)
    throw usageError(`"${text}" is not an address range. Use 10.0.0.0/24, 10.0.0.1-10.0.0.99 or one address.`)
}

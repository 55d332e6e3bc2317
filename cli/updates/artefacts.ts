import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Artefact, type ArtefactKind, artefactKinds, updates } from '@millwright/api/updates.ts'
import { type Command, Option } from 'commander'
import { saveResponse } from '../files/download.ts'
import { confirm } from '../input/confirmation.ts'
import { isId, requireSingle } from '../input/lookup.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatBytes, sanitize } from '../output/text.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { describeFile, uploadContent } from './upload.ts'

const columns: Columns = {
  id: 'id',
  name: 'name',
  version: 'version',
  kind: 'kind',
  manufacturer: 'manufacturer',
  products: ({ products }) => (products as string[]).join(', '),
  size: ({ size }) => formatBytes(Number(size)),
  content: 'content.state',
  signature: 'signature.state',
  usable: ({ isUsable }) => (isUsable === true ? 'yes' : 'no'),
}

type ListOptions = PagingOptions & { kind?: ArtefactKind; manufacturer?: string; product?: string; query?: string }

type UploadOptions = {
  name?: string
  manufacturer: string
  product: string[]
  /** The version of the artefact. */
  version: string
  kind: ArtefactKind
  hardware?: string[]
  requires?: string[]
  signature?: string
  notes?: string
}

/** Adds the commands for artefacts. */
export function addArtefacts(parent: Command, terminal: Terminal): void {
  const artefacts = parent.command('artefacts').description('the library of artefacts: list, show, download, delete')

  platformCommand(
    withPagingOptions(artefacts.command('list').description('list artefacts, newest first'))
      .addOption(new Option('--kind <kind>', 'kind of the artefacts').choices(artefactKinds))
      .option('--manufacturer <name>', 'artefacts of this manufacturer')
      .option('--product <product>', 'artefacts for this product')
      .option('-q, --query <text>', 'text in the name, product or version'),
    terminal,
    list,
  )

  platformCommand(
    artefacts.command('show').description('show an artefact').argument('<artefact>', 'id or name'),
    terminal,
    async (session, name: string) => {
      const params = { id: await artefactId(session, name) }
      await session.output.show(await session.api(updates).readArtefact({ params }))
    },
  )

  platformCommand(
    artefacts
      .command('download')
      .description('save the content of an artefact')
      .argument('<artefact>', 'id or name')
      .requiredOption('-o, --output <file>', 'file to write; - is standard output'),
    terminal,
    async (session, name: string, { output }: { output: string }) => {
      const id = await artefactId(session, name)
      const response = await session.open(updates, 'readContent', { params: { id } })
      await saveResponse(session, response, { contract: updates, file: output, data: { id } })
    },
  )

  platformCommand(
    artefacts
      .command('delete')
      .description('delete an artefact and its content')
      .argument('<artefact>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, name: string, options: { yes?: boolean }) => {
      const id = await artefactId(session, name)
      await confirm(session, `Delete artefact "${name}"?`, options)
      await session.api(updates).deleteArtefact({ params: { id } })
      await session.output.done(`Artefact ${name} deleted.`, { data: { id } })
    },
  )

  addUpload(parent, terminal)
}

function addUpload(parent: Command, terminal: Terminal): void {
  platformCommand(
    parent
      .command('upload')
      .description('add a file to the library, or continue an upload')
      .argument('<file>')
      .option('--name <name>', 'name of the artefact (default: the name of the file)')
      .requiredOption('--manufacturer <name>', 'manufacturer of the products')
      .requiredOption('--product <product>', 'product id or product name of the devices; repeatable', collect)
      .requiredOption('--version <version>', 'version of the artefact')
      .addOption(new Option('--kind <kind>', 'kind of the artefact').choices(artefactKinds).default('firmware'))
      .option('--hardware <version>', 'hardware version of the devices (default: all); repeatable', collect)
      .option(
        '--requires <range>',
        'range of installed versions on which the artefact can be installed, such as ">=2.0 <3.0"; repeatable',
        collect,
      )
      .option('--signature <file>', 'detached signature: CMS in PEM format (.p7s), or minisign (.minisig)')
      .option('--notes <file>', 'file with the release notes'),
    terminal,
    upload,
  ).addHelpText(
    'after',
    `
The platform checks the SHA-256 and the signature. An artefact without a signature of a trusted key
can be installed only if an administrator allows unsigned artefacts. If the upload is interrupted, repeat the command.

Examples:
  openssl cms -sign -binary -outform PEM -in fw.bin -signer cert.pem -inkey key.pem -out fw.p7s
  millwright updates upload fw.bin --manufacturer Acme --product 'PX 100' --version 2.1 --signature fw.p7s
  millwright updates upload fw.bin --manufacturer Acme --product 'PX 100' --version 3.0 --requires '>=2.1'`,
  )
}

async function list(session: Session, { kind, manufacturer, product, query, ...options }: ListOptions): Promise<void> {
  const filters = {
    ...(kind === undefined ? {} : { kind }),
    ...(manufacturer === undefined ? {} : { manufacturer }),
    ...(product === undefined ? {} : { product }),
    ...(query === undefined ? {} : { q: query }),
  }
  const pages = pagesOf(options, (page) => session.api(updates).listArtefacts({ query: { ...filters, ...page } }))
  await session.output.list(await pages, { columns, nothing: 'No artefacts. To add one: millwright updates upload' })
}

async function upload(session: Session, path: string, options: UploadOptions): Promise<void> {
  const { manufacturer, product: products, version, kind, hardware, requires, notes } = options
  const name = options.name ?? basename(path)
  const signature = options.signature === undefined ? undefined : await textOf(options.signature)
  const releaseNotes = notes === undefined ? undefined : await textOf(notes)
  const file = await describeFile(session, path)
  const begun = await findUpload(session, { name, version, sha256: file.sha256 })
  const artefact =
    begun ??
    (
      await session.api(updates).createArtefact({
        body: {
          data: {
            name,
            manufacturer,
            products,
            version,
            kind,
            sha256: file.sha256,
            size: file.size,
            ...(hardware === undefined ? {} : { hardwareVersions: hardware }),
            ...(requires === undefined ? {} : { requires: requires.map((from) => ({ from })) }),
            ...(signature === undefined ? {} : { signature }),
            ...(releaseNotes === undefined ? {} : { releaseNotes }),
          },
        },
      })
    ).data
  if (begun !== undefined && signature !== undefined)
    await session.api(updates).putSignature({ params: { id: begun.id }, body: { data: { signature } } })
  await uploadContent(session, artefact, file)
  const { data } = await session.api(updates).readArtefact({ params: { id: artefact.id } })
  await session.output.done(`Artefact ${data.id}: ${sanitize(data.name)} ${sanitize(data.version)}`, { data })
  if (data.problem !== undefined && session.output.isText) session.terminal.note(data.problem.detail)
}

/** Returns the artefact of an upload that was begun before with the same file, if there is one. */
async function findUpload(
  session: Session,
  { name, version, sha256 }: Pick<Artefact, 'name' | 'version' | 'sha256'>,
): Promise<Artefact | undefined> {
  const { data } = await session.api(updates).listArtefacts({ query: { q: name.slice(0, 256), limit: 100 } })
  return data.find((one) => one.name === name && one.version === version && one.sha256 === sha256)
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw usageError(`${path} cannot be read.`, 'check the name of the file and its permissions')
  })
}

/** Returns the id of an artefact. A name with several versions is ambiguous, so `name@version` is also accepted. */
export async function artefactId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const at = nameOrId.lastIndexOf('@')
  const wanted = [{ name: nameOrId, version: undefined as string | undefined }]
  if (at > 0) wanted.push({ name: nameOrId.slice(0, at), version: nameOrId.slice(at + 1) })
  const found = new Map<string, Artefact>()
  for (const { name } of wanted) {
    const { data } = await api(updates).listArtefacts({ query: { q: name.slice(0, 256), limit: 100 } })
    for (const one of data) found.set(one.id, one)
  }
  const matches = [...found.values()].filter((one) =>
    wanted.some(({ name, version }) => one.name === name && (version === undefined || one.version === version)),
  )
  if (matches.length > 1)
    throw new CommandError(`Artefact "${nameOrId}" is ambiguous.`, {
      next: `use one of ${matches.map(({ name, version }) => `"${name}@${version}"`).join(', ')}, or the id`,
    })
  return requireSingle('Artefact', nameOrId, { matches, list: 'millwright updates artefacts list' })
}

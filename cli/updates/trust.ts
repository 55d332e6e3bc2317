import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { updates } from '@millwright/api/updates.ts'
import { type Command, Option } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { isId, requireSingle } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** Adds the commands for the keys that can sign artefacts. */
export function addTrust(parent: Command, terminal: Terminal): void {
  const trust = parent.command('trust').description('certificates and public keys that can sign artefacts')

  platformCommand(
    withPagingOptions(trust.command('list').description('list the trusted certificates and keys')),
    terminal,
    async (session, options: PagingOptions) => {
      const pages = pagesOf(options, (page) => session.api(updates).listTrustAnchors({ query: page }))
      await session.output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          format: 'format',
          fingerprint: 'fingerprint',
          subject: 'subject',
          'valid until': 'notAfter',
          'added by': 'createdBy.name',
        },
        nothing: 'No trusted certificates or keys. To add one: millwright updates trust add',
      })
    },
  )

  platformCommand(
    trust
      .command('add')
      .description('trust a certificate in PEM format, or a public key of minisign')
      .argument('<file>')
      .option('--name <name>', 'name (default: the name of the file)'),
    terminal,
    async (session, path: string, { name = basename(path) }: { name?: string }) => {
      const publicKey = await readFile(path, 'utf8').catch(() => {
        throw usageError(`${path} cannot be read.`, 'check the name of the file and its permissions')
      })
      const answer = await session.api(updates).createTrustAnchor({ body: { data: { name, publicKey } } })
      await session.output.done(`${name} is trusted: ${answer.data.fingerprint}`, answer)
    },
  )

  platformCommand(
    trust
      .command('remove')
      .description('remove a trusted certificate or key')
      .argument('<name>', 'name or id')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, name: string, options: { yes?: boolean }) => {
      const id = await anchorId(session, name)
      await confirm(session, `Artefacts that only "${name}" signed can no longer be installed. Remove it?`, options)
      await session.api(updates).deleteTrustAnchor({ params: { id } })
      await session.output.done(`${name} is no longer trusted.`, { data: { id } })
    },
  )

  platformCommand(
    parent
      .command('settings')
      .description('show or change whether unsigned artefacts can be installed')
      .addOption(
        new Option('--unsigned <choice>', 'artefacts without a trusted signature').choices(['allow', 'refuse']),
      ),
    terminal,
    async (session, { unsigned }: { unsigned?: 'allow' | 'refuse' }) => {
      if (unsigned === undefined) return session.output.show(await session.api(updates).readSettings({}))
      const body = { data: { allowsUnsigned: unsigned === 'allow' } }
      const answer = await session.api(updates).putSettings({ body })
      const state = answer.data.allowsUnsigned ? 'can be installed' : 'are refused'
      await session.output.done(`Artefacts without a trusted signature ${state}.`, answer)
    },
  )
}

async function anchorId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(updates).listTrustAnchors({ query: { limit: 100 } })
  const matches = data.filter(({ name }) => name === nameOrId)
  return requireSingle('Certificate or key', nameOrId, { matches, list: 'millwright updates trust list' })
}

import { setTimeout as delay } from 'node:timers/promises'
import { type DriftProduct, type RetrievedKind, retrievedKinds, updates } from '@millwright/api/updates.ts'
import { type Command, Option } from 'commander'
import { saveResponse } from '../files/download.ts'
import { assetId } from '../input/lookup.ts'
import { CommandError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { sanitize } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

const pollMs = 500

/** Adds the commands about the versions of devices, and about files that are read from them. */
export function addDevices(parent: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      parent.command('drift').description('list products with the firmware versions that their devices run'),
    ).option('-q, --query <text>', 'text in the manufacturer or product'),
    terminal,
    async (session, { query, ...options }: PagingOptions & { query?: string }) => {
      const filter = query === undefined ? {} : { q: query }
      const pages = pagesOf(options, (page) => session.api(updates).listDrift({ query: { ...filter, ...page } }))
      await session.output.list(await pages, {
        columns: {
          manufacturer: 'manufacturer',
          product: 'product',
          devices: 'devices',
          'newest known': 'newestKnown',
          outdated: 'outdated',
          versions: ({ versions }) => versionsText(versions as DriftProduct['versions']),
        },
        nothing: 'No products. Run a scan first: millwright discover',
      })
    },
  )

  platformCommand(
    parent
      .command('asset')
      .description('show the version, the suitable artefacts and the updates of an asset')
      .argument('<asset>', 'id or name'),
    terminal,
    async (session, name: string) => {
      const params = { id: await assetId(session, name) }
      await session.output.show(await session.api(updates).readAssetUpdates({ params }))
    },
  )

  platformCommand(
    parent
      .command('impact')
      .description('show which assets a restart of an asset can interrupt')
      .argument('<asset>', 'id or name'),
    terminal,
    async (session, name: string) => {
      const params = { id: await assetId(session, name) }
      await session.output.show(await session.api(updates).readImpact({ params }))
    },
  )

  platformCommand(
    parent
      .command('read')
      .description('read a backup, configuration or log file from a device')
      .argument('<asset>', 'id or name')
      .addOption(new Option('--kind <kind>', 'what to read').choices(retrievedKinds).default('logfile'))
      .requiredOption('-o, --output <file>', 'file to write; - is standard output'),
    terminal,
    read,
  )
}

function versionsText(versions: DriftProduct['versions']): string {
  return versions.map(({ version, devices }) => `${version ?? 'unknown'}: ${devices}`).join(', ')
}

type ReadOptions = { kind: RetrievedKind; output: string }

async function read(session: Session, name: string, { kind, output }: ReadOptions): Promise<void> {
  const params = { id: await assetId(session, name) }
  const { data: begun } = await session.api(updates).createRetrieval({ params, body: { data: { kind } } })
  const artefact = await untilRead(session, params.id, begun.id)
  const response = await session.open(updates, 'readContent', { params: { id: artefact } })
  await saveResponse(session, response, { contract: updates, file: output, data: { id: artefact } })
}

/** Waits until a retrieval has ended. Returns the id of its artefact. */
async function untilRead(session: Session, id: string, retrievalId: string): Promise<string> {
  for (;;) {
    const { data } = await session.api(updates).listRetrievals({ params: { id }, query: { limit: 100 } })
    const retrieval = data.find((one) => one.id === retrievalId)
    if (retrieval?.artefactId !== undefined && retrieval.state === 'finished') return retrieval.artefactId
    if (retrieval === undefined || retrieval.state === 'failed')
      throw new CommandError(`The file could not be read: ${sanitize(retrieval?.reason ?? 'the job was deleted')}.`)
    session.terminal.progress(`${retrieval.state}: ${retrieval.progress} %`)
    await delay(pollMs)
  }
}

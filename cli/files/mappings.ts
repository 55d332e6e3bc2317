import { imports } from '@millwright/api/imports.ts'
import type { Command } from 'commander'
import { isId, requireSingle } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** This file contains the commands for saved mappings of columns. */

/** Returns the id of a saved mapping. */
export async function mappingId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(imports).listMappings({ query: { limit: 100 } })
  const matches = data.filter(({ name }) => name === nameOrId)
  return requireSingle('Mapping', nameOrId, { matches, list: 'millwright imports mappings list' })
}

export function addMappingCommands(command: Command, terminal: Terminal): void {
  const mappings = command.command('mappings').description('saved mappings of the columns of files')

  platformCommand(
    withPagingOptions(mappings.command('list').description('list saved mappings')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(imports).listMappings({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          columns: ({ columns }) => (columns as unknown[]).length,
          changed: 'lastModifiedTimestamp',
        },
        nothing: 'No mappings yet: millwright import <file> --save-mapping <name>',
      })
    },
  )

  platformCommand(
    mappings.command('show').description('show the columns of a mapping').argument('<mapping>', 'name or id'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await mappingId(session, nameOrId)
      const { data } = await session.api(imports).listMappings({ query: { limit: 100 } })
      const columns = data.find((mapping) => mapping.id === id)?.columns ?? []
      await session.output.list(
        { data: columns },
        { columns: { heading: 'from', field: 'to' }, nothing: 'The mapping has no columns.' },
      )
    },
  )

  platformCommand(
    mappings.command('delete').description('delete a saved mapping').argument('<mapping>', 'name or id'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await mappingId(session, nameOrId)
      await session.api(imports).deleteMapping({ params: { mappingId: id } })
      await session.output.done(`Mapping ${nameOrId} deleted.`, { data: { id } })
    },
  )
}

import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { groupId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { collect } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** This file reads the options that the creation and the change of webhooks and MQTT publishers have in common. */

export type FieldOptions = {
  name?: string
  type?: string[]
  group?: string
  filter?: string
  authority?: string
}

/** Adds the options for the fields. `none` in a change removes the value. */
export function withFieldOptions(command: Command): Command {
  return command
    .option('--name <name>', 'name (default: the host of the URL)')
    .option(
      '--type <prefix>',
      'prefix of event types, such as inventory.asset; repeatable; io.millwright. for all',
      collect,
    )
    .option('--group <group>', 'only events that name an asset of this access group; or none')
    .option('--filter <filter>', 'only events about assets that match, such as "name eq \'Pump 4\'"; or none')
    .option('--authority <file>', 'certificates of the private authority of the receiver, in PEM format; or none')
}

/** Returns the fields of a request. Options that were not passed are left out. */
export async function fieldsOf(session: Session, { name, type, group, filter, authority }: FieldOptions) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(type === undefined ? {} : { types: type }),
    ...(group === undefined ? {} : { accessGroup: group === 'none' ? null : await groupId(session, group) }),
    ...(filter === undefined ? {} : { filter: filter === 'none' ? null : filter }),
    ...(authority === undefined ? {} : { certificateAuthority: await certificates(authority) }),
  }
}

async function certificates(path: string): Promise<string | null> {
  if (path === 'none') return null
  return readFile(path, 'utf8').catch(() => {
    throw usageError(`${path} cannot be read.`, 'check the name of the file and its permissions')
  })
}

export function requireTypes(types: readonly string[] | undefined): string[] {
  if (types !== undefined) return [...types]
  throw usageError(
    'The event types are missing.',
    'pass --type for each prefix, or --type io.millwright. for all events',
  )
}

export function requireChange(data: object): void {
  if (Object.keys(data).length === 0) throw usageError('Pass at least one option with a new value.')
}

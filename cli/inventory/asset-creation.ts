import { type AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { batches } from '../input/batches.ts'
import { parsePair, parseValue, readObjects } from '../input/json-input.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { BatchResults } from './batch-results.ts'
import { resultsOf, resultsOrThrow, waitHeaders } from './write-status.ts'

type Options = {
  name?: string
  type: string
  mac?: string[]
  serial?: string
  ip?: string[]
  group?: string
  set?: string[]
  file?: string
  strict?: boolean
}

export function addCreation(assets: Command, terminal: Terminal): void {
  platformCommand(
    assets
      .command('create')
      .description('create assets, or update those that have these identifiers')
      .option('--name <name>', 'name')
      .option('--type <type>', 'Device, Gateway, SoftwareArtifact or Asset', 'Device')
      .option('--mac <address>', 'MAC address that identifies the asset; repeatable', collect)
      .option('--serial <vendor/article/serial>', 'product instance that identifies the asset')
      .option('--ip <address>', 'IPv4 address of the asset; repeatable', collect)
      .option('--group <name>', 'access group')
      .option('--set <field=value>', 'any other field; the value is JSON or text; repeatable', collect)
      .option('--file <path>', 'file with one asset as JSON, or one asset per line (NDJSON); - is standard input')
      .option('--strict', 'fail when the identifiers belong to two assets'),
    terminal,
    (session, options: Options) =>
      options.file === undefined ? createOne(session, options) : createMany(session, options),
  ).addHelpText(
    'after',
    `
Examples:
  millwright assets create --name 'Drive 12' --mac 00-1B-1B-00-00-12 --ip 192.0.2.12
  millwright assets create --name 'Pump 4' --serial 'Acme/P-100/4711' --set 'description=spare'
  millwright assets create --file assets.ndjson`,
  )
}

async function createOne(session: Session, options: Options): Promise<void> {
  const asset = {
    functional_object_type: options.type,
    ...(options.name === undefined ? {} : { name: options.name }),
    asset_identifiers: identifiersOf(options),
    ...(options.ip === undefined ? {} : { connection_points: options.ip.map(addressed) }),
    ...(options.group === undefined ? {} : { access_group: options.group }),
    ...settings(options.set),
  }
  const query = options.strict ? { strict: true } : {}
  const answer = await session.api(inventory).createAsset({ body: { data: { asset } }, query, headers: waitHeaders })
  const [result] = await resultsOrThrow(session, answer)
  await session.output.done(`${result?.assetId} ${result?.outcome}`, { data: result ?? {} })
}

function identifiersOf({ mac = [], serial }: Options): AssetDocument[] {
  const identifiers: AssetDocument[] = mac.map((address) => ({
    asset_identifier_type: 'MacIdentifier',
    mac_address: address,
  }))
  if (serial !== undefined) {
    const [vendor = '', article_number = '', ...rest] = serial.split('/')
    if (rest.length === 0) throw usageError(`--serial must have the form vendor/article/serial, but is "${serial}".`)
    identifiers.push({
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor,
      article_number,
      serial_number: rest.join('/'),
    })
  }
  if (identifiers.length > 0) return identifiers
  throw usageError('An asset needs an identifier.', 'pass --mac, --serial or --file')
}

function addressed(address: string): AssetDocument {
  return { connection_point_type: 'Ipv4Connectivity', ipv4_address: address }
}

/** Parses the values of `--set` into fields. */
export function settings(values: readonly string[] = []): AssetDocument {
  const fields = values.map((text) => {
    const [name, value] = parsePair(text, '--set')
    return [name, parseValue(value)]
  })
  return Object.fromEntries(fields)
}

async function createMany(session: Session, options: Options): Promise<void> {
  const batchResults = new BatchResults(session, 'assets')
  const documents = readObjects(session.terminal, options.file ?? '-')
  for await (const assets of batches(documents)) {
    const query = options.strict ? { strict: true } : {}
    const accepted = await session
      .api(inventory)
      .createAssets({ body: { data: { assets } }, query, headers: waitHeaders })
    await batchResults.add(await resultsOf(session, accepted))
  }
  await batchResults.finish()
}

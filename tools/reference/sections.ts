import { contracts, offeredPermissions, statusText } from '@millwright/api/contracts.ts'
import { builtInRoles, permissions } from '@millwright/api/permission.ts'
import { type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import { exitCodeHelp } from '@millwright/cli/output/error-report.ts'
import { processTerminal } from '@millwright/cli/output/terminal.ts'
import { commandModules } from '@millwright/cli/program/commands.ts'
import { programFor } from '@millwright/cli/program/program.ts'
import { clientSettings } from '@millwright/cli/session/settings.ts'
import { cloudSettings } from '@millwright/cloud/settings.ts'
import { gatewaySettings } from '@millwright/gateway/settings.ts'

/**
 * This file contains the generated sections of the reference pages. A page contains a section between the comments
 * `<!-- generated: name -->` and `<!-- end -->`. `node tools/reference-pages.mjs` writes the sections, and a test fails
 * if a section is stale.
 */
type Section = () => string | Promise<string>

export const sections: Readonly<Record<string, Section>> = {
  'api operations': apiOperations,
  'cli commands': cliCommands,
  'exit codes': exitCodes,
  'platform settings': () => settingTable(Object.values(cloudSettings)),
  'gateway settings': () => gatewaySettingTable(),
  'client settings': () => settingTable(Object.values(clientSettings)),
  permissions: permissionTable,
  'built-in roles': roleTable,
  'problem codes': problemTable,
}

const marked = /(<!-- generated: ([\w -]+) -->\n)([\s\S]*?)(<!-- end -->)/g

/** Returns the names of the generated sections in a page. */
export function sectionsIn(page: string): string[] {
  return [...page.matchAll(marked)].map(([, , name = '']) => name)
}

/** Returns the page with its generated sections up to date. */
export async function withSections(page: string): Promise<string> {
  const contents = new Map<string, string>()
  for (const name of sectionsIn(page)) {
    const section = sections[name]
    if (section === undefined) throw new Error(`No generated section is named "${name}".`)
    contents.set(name, await section())
  }
  return page.replaceAll(marked, (_, start: string, name: string, __, end: string) => {
    return `${start}\n${contents.get(name)}\n\n${end}`
  })
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``)

function apiOperations(): string {
  const names = { public: 'none', 'signed-in': 'any token of a user or program', known: 'any token' }
  return Object.values(contracts)
    .map(({ title, prefix, operations }) => {
      const rows = Object.entries(operations)
        .filter(([, { access }]) => access !== 'peer' && access !== 'on-behalf')
        .map(([name, { method, path, access, summary, ...operation }]) => {
          const address = 'atRoot' in operation ? path : `${prefix}${path}`
          const required = access in names ? names[access as keyof typeof names] : code(access)
          return [code(name), code(`${method} ${address}`), required, summary]
        })
      return `## ${title}\n\n${table(['Operation', 'Request', 'Permission', 'Description'], rows)}`
    })
    .join('\n\n')
}

type Program = Awaited<ReturnType<typeof programFor>>

async function cliCommands(): Promise<string> {
  const program = await programFor(processTerminal(), Object.keys(commandModules))
  const groups = Map.groupBy(program.commands, (command) => command.helpGroup())
  return [...groups]
    .map(([group, commands]) => {
      const rows = commands.flatMap((command) => commandRows(command as Program, ''))
      return `### ${group.replace(/:$/, '')}\n\n${table(['Command', 'Description', 'Options'], rows)}`
    })
    .join('\n\n')
}

/** Returns one row per command. A parent comes before its children. */
function commandRows(command: Program, path: string): string[][] {
  const name = `${path} ${command.name()}`.trim()
  const row = [
    code(`${name} ${argumentsOf(command)}`.trim()),
    command.description(),
    ownOptions(command).map(code).join(', '),
  ]
  // The subcommands of `api` are left out, because the API operations have their own reference page.
  if (name === 'api') return [row]
  return [row, ...command.commands.flatMap((child) => commandRows(child as Program, name))]
}

function argumentsOf(command: Program): string {
  return command
    .usage()
    .replace(/\[options\] ?|\[command\] ?/g, '')
    .trim()
}

/** Matches the options that most commands share. The reference page describes these options only once. */
const sharedOptions = /^--(?:profile|url|json|ndjson|all|limit|offset|yes)\b/

function ownOptions(command: Program): string[] {
  return command.options.map(({ flags }) => flags).filter((flags) => !sharedOptions.test(flags))
}

function exitCodes(): string {
  const rows = exitCodeHelp
    .split('\n')
    .map((line) => /^ +(\d+) +(.*)$/.exec(line))
    .filter((match) => match !== null)
  return table(
    ['Code', 'Meaning'],
    rows.map(([, number = '', meaning = '']) => [number, meaning]),
  )
}

type SettingLike = { variable: string; default: unknown; help: string; secret?: boolean }

function settingTable(settings: readonly SettingLike[]): string {
  return table(
    ['Variable', 'Default', 'Description'],
    settings.map((setting) => [
      code(setting.variable),
      code(Array.isArray(setting.default) ? setting.default.join(',') : String(setting.default ?? '')),
      `${setting.help}${setting.secret ? '. Secret' : ''}`,
    ]),
  )
}

function gatewaySettingTable(): string {
  return settingTable(
    Object.values(gatewaySettings).map(({ variable, fallback, help }) => ({ variable, default: fallback, help })),
  )
}

function permissionTable(): string {
  const scopes = { global: 'tenant', 'access-group': 'tenant or access group' }
  return table(
    ['Permission', 'Granted in', 'Allows'],
    offeredPermissions.map((name) => [code(name), scopes[permissions[name].scope], permissions[name].title]),
  )
}

function roleTable(): string {
  return table(
    ['Role', 'Description', 'Permissions'],
    Object.entries(builtInRoles).map(([name, role]) => [
      code(name),
      role.title,
      name === 'administrator' ? 'all' : listed(role.permissions).map(code).join(', '),
    ]),
  )
}

function listed(names: readonly string[]): string[] {
  return names.filter((name) => offeredPermissions.some((offered) => offered === name))
}

function problemTable(): string {
  return table(
    ['Code', 'Status', 'Meaning'],
    Object.entries(problemCodes).map(([name, { title }]) => [code(name), statusText(name as ProblemCode), title]),
  )
}

import { describeConfiguration, masked } from '@millwright/cloud/platform/configuration.ts'
import { cloudSettings, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { type Environment, gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'
import type { Command } from 'commander'
import { type GatewayPorts, runningPorts } from '../gateway/local-gateway.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { clientSettings } from '../session/settings.ts'

type SettingRow = ReturnType<typeof describeConfiguration>[number] & {
  /** The default port, if the running local gateway uses another port instead. */
  replaces?: string
}

/** Returns the settings of the gateway, with the ports that a running local gateway uses. */
function describeGateway(environment: Environment, ports: GatewayPorts | undefined): SettingRow[] {
  const effective = readSettings(environment)
  const used: Readonly<Record<string, number | undefined>> = { ...ports }
  return Object.entries(gatewaySettings).map(([name, { variable, fallback, help }]) => {
    const setting = environment[variable] ?? ''
    const port = used[name]
    const isReplaced = setting === '' && port !== undefined && String(port) !== fallback
    const value =
      port === undefined ? setting || (name === 'configFile' ? effective.configFile : fallback) : String(port)
    return { variable, value: masked(value), set: setting !== '', help, ...(isReplaced ? { replaces: fallback } : {}) }
  })
}

export function addCommands(config: Command, terminal: Terminal): void {
  config.option('--json', 'print JSON').action(async ({ json }: { json?: boolean }) => {
    const environment = { ...terminal.environment }
    const { home } = readCloudConfiguration(environment)
    const data = [
      ...describeConfiguration({ ...cloudSettings, ...clientSettings }, environment),
      ...describeGateway(environment, await runningPorts(home)),
    ]
    if (json) return terminal.print(JSON.stringify(data))
    await new Output(terminal, 'text').list(
      { data },
      {
        columns: {
          variable: 'variable',
          value: ({ set, value, replaces }) =>
            set
              ? value
              : replaces !== undefined
                ? `${value} (of the running gateway; default ${replaces})`
                : value === ''
                  ? 'none'
                  : `${value} (default)`,
          help: 'help',
        },
        nothing: '',
      },
    )
  })
}

import { onboarding } from '@millwright/api/onboarding.ts'
import { type RemoteGateway, remoteAccess } from '@millwright/api/remote-access.ts'
import type { Command } from 'commander'
import { assetId, gatewayId } from '../input/lookup.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

/** Adds the commands that show where remote access is possible, and that switch it on and off. */
export function addSwitches(remote: Command, terminal: Terminal): void {
  platformCommand(
    remote
      .command('target')
      .description('show whether and how you can connect to an asset: gateway, addresses, policy, credentials')
      .argument('<asset>', 'id or name'),
    terminal,
    async (session, asset: string) => {
      const id = await assetId(session, asset)
      await session.output.show(await session.api(remoteAccess).readTarget({ params: { id } }))
    },
  )

  platformCommand(
    remote.command('status').description('show the switches, and the gateways with their tunnels'),
    terminal,
    status,
  )

  for (const [name, isEnabled] of [
    ['off', false],
    ['on', true],
  ] as const) {
    platformCommand(
      remote
        .command(name)
        .description(
          isEnabled
            ? 'switch remote access on, for the tenant or for one gateway'
            : 'switch remote access off and end all sessions immediately, for the tenant or for one gateway',
        )
        .option('--gateway <gateway>', 'only sessions through this gateway: id or name'),
      terminal,
      (session, { gateway }: { gateway?: string }) => setSwitch(session, { gateway, isEnabled }),
    )
  }
}

async function setSwitch(
  session: Session,
  { gateway, isEnabled }: { gateway: string | undefined; isEnabled: boolean },
): Promise<void> {
  const { api, output } = session
  const body = { data: { isEnabled } }
  const state = isEnabled ? 'on' : 'off. All its sessions end now'
  if (gateway === undefined)
    return output.done(`Remote access of the tenant is switched ${state}.`, await api(remoteAccess).putSwitch({ body }))
  const params = { gatewayId: await gatewayId(session, gateway) }
  const answer = await api(remoteAccess).putGatewaySwitch({ params, body })
  await output.done(`Remote access through ${gateway} is switched ${state}.`, answer)
}

async function status({ api, output }: Session): Promise<void> {
  const client = api(remoteAccess)
  const { data: tenant } = await client.readSwitch({})
  const gateways: RemoteGateway[] = []
  for (let offset = 0, page = 100; ; offset += page) {
    const { data } = await client.listGateways({ query: { limit: page, offset } })
    gateways.push(...data)
    if (data.length < page) break
  }
  if (!output.isText) return output.show({ data: { ...tenant, gateways } })
  await output.printText(`Remote access of the tenant: ${tenant.isEnabled ? 'on' : 'off'}`)
  const names = new Map(
    (await api(onboarding).listGateways({ query: { limit: 100 } })).data.map(({ id, name }) => [id, name]),
  )
  await output.list(
    { data: gateways.map((gateway) => ({ ...gateway, name: names.get(gateway.gatewayId) ?? '' })) },
    {
      columns: {
        gateway: 'gatewayId',
        name: 'name',
        tunnel: ({ isConnected }) => (isConnected ? 'connected' : 'not connected'),
        switch: ({ isEnabled }) => (isEnabled ? 'on' : 'off'),
        sessions: 'sessions',
      },
      nothing: 'No gateways yet: millwright gateway onboard',
    },
  )
}

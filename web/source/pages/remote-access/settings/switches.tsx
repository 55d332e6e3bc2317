import type { RemoteGateway } from '@millwright/api/remote-access.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { gatewayStateIntervalMs, useGatewayNames } from '../../../app/api/gateways.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, useRights } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { useRefreshSessions } from '../remote-session.ts'
import { settingMessages } from './messages.ts'

/** `Switches` switches remote access on or off, for the tenant and for each gateway. */
export function Switches() {
  const text = useText(settingMessages)
  const rights = useRights()
  const canReadGateways = rights.has('glb_jobs_read')
  return (
    <div className="cards">
      {rights.has('glb_access_manage') && <TenantSwitch canReadGateways={canReadGateways} />}
      {canReadGateways && (
        <Card title={text.gateways}>
          <GatewaySwitches />
          <p className="field-hint">{text.localFile}</p>
        </Card>
      )}
    </div>
  )
}

/** Returns the gateways with their tunnels and switches. There is no event when a tunnel opens or closes. */
function useRemoteGateways(isEnabled: boolean) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['remote-access', 'listGateways'], { query: { limit: 100 } }, { live: ['remote-access'] }),
    enabled: isEnabled,
    refetchInterval: gatewayStateIntervalMs,
  })
}

function TenantSwitch({ canReadGateways }: { canReadGateways: boolean }) {
  const text = useText(settingMessages)
  const api = useApi()
  const query = useOperationQuery()
  const tenant = useQuery(query(['remote-access', 'readSwitch'], {}, { live: ['remote-access'] }))
  const gateways = useRemoteGateways(canReadGateways).data
  const sessions = gateways?.data.reduce((sum, gateway) => sum + gateway.sessions, 0)
  const isComplete = gateways !== undefined && gateways.data.length === gateways.meta.totalElements
  return (
    <Card title={text.tenant}>
      <p className="card-lead">{text.tenantText}</p>
      <QueryState query={tenant}>
        {({ data: { isEnabled } }) => (
          <AccessSwitch
            label={isEnabled ? text.isOn : text.isOff}
            title={text.offTitle}
            isEnabled={isEnabled}
            sessions={isComplete ? sessions : undefined}
            onSwitch={(next) => api['remote-access'].putSwitch({ body: { data: { isEnabled: next } } })}
          />
        )}
      </QueryState>
    </Card>
  )
}

function GatewaySwitches() {
  const text = useText(settingMessages)
  const formats = useFormats()
  const names = useGatewayNames()
  const gateways = useRemoteGateways(true)
  return (
    <QueryState query={gateways}>
      {({ data }) =>
        data.length === 0 ? (
          <p>
            {text.noGateways} <Link to="/discovery">{text.toDiscovery}</Link>
          </p>
        ) : (
          <PlainTable columns={[text.gateway, text.tunnel, text.sessions, text.remoteAccess]}>
            {data.map((gateway) => (
              <tr key={gateway.gatewayId}>
                <td>
                  <Link to={`/discovery/gateways/${gateway.gatewayId}`}>
                    {names.get(gateway.gatewayId) ?? gateway.gatewayId}
                  </Link>
                </td>
                <td>
                  <TunnelState gateway={gateway} />
                </td>
                <td>{formats.number(gateway.sessions)}</td>
                <td>
                  <GatewaySwitch gateway={gateway} name={names.get(gateway.gatewayId) ?? gateway.gatewayId} />
                </td>
              </tr>
            ))}
          </PlainTable>
        )
      }
    </QueryState>
  )
}

/** `GatewayAccessCard` shows the tunnel of one gateway on its page, and switches remote access through it on or off. */
export function GatewayAccessCard({ gatewayId, name }: { gatewayId: string; name: string }) {
  const text = useText(settingMessages)
  const gateway = useRemoteGateways(true).data?.data.find((each) => each.gatewayId === gatewayId)
  if (gateway === undefined) return null
  return (
    <Card title={text.remoteAccess}>
      <KeyValueList
        items={[
          { name: text.tunnel, value: <TunnelState gateway={gateway} /> },
          {
            name: text.sessions,
            value: (
              <Link to="/remote" search={{ gateway: gatewayId }}>
                {gateway.sessions}
              </Link>
            ),
          },
          { name: text.allowed, value: <GatewaySwitch gateway={gateway} name={name} /> },
        ]}
      />
    </Card>
  )
}

function TunnelState({ gateway: { isConnected } }: { gateway: RemoteGateway }) {
  const text = useText(settingMessages)
  return (
    <StatusChip tone={isConnected ? 'good' : 'warning'}>{isConnected ? text.connected : text.notConnected}</StatusChip>
  )
}

function GatewaySwitch({ gateway, name }: { gateway: RemoteGateway; name: string }) {
  const text = useText(settingMessages)
  const api = useApi()
  const canManage = useRights().has('glb_gateway_manage')
  return (
    <AccessSwitch
      label={
        <>
          <span className="unseen">{text.switchOf(name)} </span>
          {gateway.isEnabled ? text.on : text.isSwitchedOff}
        </>
      }
      title={text.offGatewayTitle(name)}
      isEnabled={gateway.isEnabled}
      isDisabled={!canManage}
      sessions={gateway.sessions}
      onSwitch={(isEnabled) =>
        api['remote-access'].putGatewaySwitch({
          params: { gatewayId: gateway.gatewayId },
          body: { data: { isEnabled } },
        })
      }
    />
  )
}

type AccessSwitchProps = {
  label: ReactNode
  /** The question before remote access is switched off. */
  title: string
  isEnabled: boolean
  isDisabled?: boolean
  /** The number of sessions that end, or undefined if it is not known. */
  sessions: number | undefined
  onSwitch: (isEnabled: boolean) => Promise<unknown>
}

/** `AccessSwitch` switches remote access on immediately, and off after a confirmation. */
function AccessSwitch({ label, title, isEnabled, isDisabled, sessions, onSwitch }: AccessSwitchProps) {
  const text = useText(settingMessages)
  const formats = useFormats()
  const refresh = useRefreshSessions()
  const [isAsking, setAsking] = useState(false)
  const change = async (next: boolean) => {
    await onSwitch(next)
    showSuccess(next ? text.switchedOn : text.switchedOff)
    await refresh()
  }
  const toggle = (next: boolean) => {
    if (!next) return setAsking(true)
    change(true).catch((error: Error) => showError(error.message))
  }
  const consequence =
    sessions === undefined
      ? text.offUnknown
      : sessions === 0
        ? text.offNone
        : text.offSome(sessions, formats.number(sessions))
  return (
    <>
      <CheckField label={label} isChecked={isEnabled} onChange={toggle} isDisabled={isDisabled ?? false} isSwitch />
      {isAsking && (
        <ConfirmDialog
          title={title}
          action={text.off}
          isDangerous
          onConfirm={() => change(false)}
          onClose={() => setAsking(false)}
        >
          <p>{consequence}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { discoveryMessages } from '../messages.ts'
import { useLinksOf } from './gateway-links.ts'
import { gatewayMessages } from './gateway-messages.ts'

/** The polling interval while a new gateway connects. Its first contact causes no event. */
const checkIntervalMs = 2_000
/** The time after which the dialog shows what to check. */
const usualMs = 120_000

/**
 * `ConnectionState` shows the progress of a new gateway: it waits for the gateway, the gateway has enrolled and connects, it
 * is connected. If this takes longer than two minutes, it also shows what to check.
 */
export function ConnectionState({ gatewayId: id }: { gatewayId: string }) {
  const text = useText(gatewayMessages)
  const query = useOperationQuery()
  const gateway = useQuery({
    ...query(['onboarding', 'getGateway'], { params: { id } }, { live: ['onboarding.gateway'] }),
    refetchInterval: ({ state }) => (isConnected(state.data?.data) ? false : checkIntervalMs),
  })
  const found = gateway.data?.data
  const isLate = useDelay(usualMs)
  if (found !== undefined && isConnected(found)) return <Connected gateway={found} />
  const isEnrolled = found?.enrolledTimestamp !== undefined
  return (
    <>
      <Loading label={isEnrolled ? text.connecting : text.waiting} />
      {isLate && <Advice isEnrolled={isEnrolled} isExpired={found?.state === 'config_expired'} />}
    </>
  )
}

function isConnected(gateway: OnboardedGateway | undefined): boolean {
  return gateway?.state === 'online' && gateway.lastSeenTimestamp !== undefined
}

/** Returns true after the given time. */
function useDelay(ms: number): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), ms)
    return () => clearTimeout(timer)
  }, [ms])
  return isOver
}

function Connected({ gateway: { id, version, enrolledTimestamp } }: { gateway: OnboardedGateway }) {
  const text = useText(gatewayMessages)
  const scans = useText(discoveryMessages)
  const navigate = useNavigate()
  const links = useLinksOf(id)
  const count = links.data?.data.length
  return (
    <>
      <p role="status">
        <StatusChip tone="good">{text.connected}</StatusChip>
      </p>
      <KeyValueList
        items={[
          { name: text.firstContact, value: <Time at={enrolledTimestamp} /> },
          { name: scans.version, value: version },
          { name: scans.links, value: count === 0 ? text.noLinksYet : count },
        ]}
      />
      <IxButton onClick={() => navigate({ to: `/discovery/gateways/${id}` })}>{text.open}</IxButton>
    </>
  )
}

function Advice({ isEnrolled, isExpired }: { isEnrolled: boolean; isExpired: boolean }) {
  const text = useText(gatewayMessages)
  const checks = isEnrolled
    ? [text.checkService, text.checkProxy]
    : [...(isExpired ? [text.checkFile] : []), text.checkOutput, text.checkReach, text.checkService]
  return (
    <div className="remark" role="status">
      <p>{text.late}</p>
      <ul>
        {checks.map((check) => (
          <li key={check}>{check}</li>
        ))}
      </ul>
      <p>
        <a href="/docs/how-to/onboard-a-gateway#troubleshooting" target="_blank" rel="noopener">
          {text.guide}
        </a>
      </p>
    </div>
  )
}

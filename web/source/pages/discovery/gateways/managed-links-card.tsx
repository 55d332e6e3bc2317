import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { CheckField } from '../../../components/forms/fields.tsx'
import { Card } from '../../../components/page/card.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { builtInDescription, builtInTitle } from '../built-in-links.ts'
import { managedLinkMessages } from './managed-link-messages.ts'

/** The interval at which the links are read again. A gateway reports the latest log lines every minute. */
const refreshMs = 30_000

/**
 * `ManagedLinksCard` shows the built-in links that a gateway can run, with a switch for each. It is empty for gateways
 * that cannot run links.
 */
export function ManagedLinksCard({ gateway }: { gateway: OnboardedGateway }) {
  const text = useText(managedLinkMessages)
  const query = useOperationQuery()
  const managed = useQuery({
    ...query(
      ['discovery', 'listManagedLinks'],
      { params: { gatewayId: gateway.id } },
      { live: ['discovery.managed-link'] },
    ),
    refetchInterval: refreshMs,
  })
  const links = managed.data?.data ?? []
  if (links.length === 0) return null
  const running = links.filter(({ enabled }) => enabled)
  const available = links.filter(({ enabled }) => !enabled)
  return (
    <Card title={text.title}>
      <p className="quiet card-lead">{text.lead}</p>
      {[
        { title: text.runningCount(running.length), shown: running },
        { title: text.available, shown: available },
      ].map(
        ({ title, shown }) =>
          shown.length > 0 && (
            <section key={title} className="managed-group">
              <h3>{title}</h3>
              <ul className="managed-links">
                {shown.map((link) => (
                  <li key={link.name}>
                    <LinkRow gateway={gateway} link={link} />
                  </li>
                ))}
              </ul>
            </section>
          ),
      )}
    </Card>
  )
}

const tones: Record<ManagedLink['state'], Tone> = {
  running: 'good',
  starting: 'info',
  failed: 'bad',
  stopped: 'neutral',
}

type LinkRowProps = { gateway: OnboardedGateway; link: ManagedLink }

function LinkRow({ gateway, link }: LinkRowProps) {
  const text = useText(managedLinkMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const canManage = usePermission('glb_gateway_manage')
  const [isSending, setSending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const { name, enabled, state, restarts, problem, notices = [], log = [] } = link
  const flip = async (isOn: boolean) => {
    setFailure(undefined)
    setSending(true)
    try {
      const params = { gatewayId: gateway.id, name }
      await api.discovery.switchManagedLink({ params, body: { data: { enabled: isOn } } })
      await queryClient.invalidateQueries({ queryKey: keyOf('discovery', 'listManagedLinks') })
    } catch (error) {
      setFailure(error)
    } finally {
      setSending(false)
    }
  }
  return (
    <>
      <div className="managed-link">
        <CheckField
          label={builtInTitle(name)}
          isSwitch
          isChecked={enabled}
          onChange={flip}
          isDisabled={!canManage || isSending || gateway.state !== 'online'}
        />
        <span>
          {restarts > 0 && <span className="quiet">{text.restarts(restarts)} </span>}
          {(enabled || state !== 'stopped') && <StatusChip tone={tones[state]}>{text[state]}</StatusChip>}
        </span>
      </div>
      <p className="managed-link-about quiet">{builtInDescription(name, useLanguage())}</p>
      {problem !== undefined && <Remark tone="bad">{problem}</Remark>}
      {notices.map((notice) => (
        <Remark key={notice} tone="warning">
          {notice}
        </Remark>
      ))}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {log.length > 0 && (
        <details>
          <summary>{text.log}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the focus for the keyboard */}
          <pre className="code log" tabIndex={0}>
            {log.join('\n')}
          </pre>
        </details>
      )}
    </>
  )
}

/** `Remark` shows a text of the gateway, which is in English. */
function Remark({ tone, children }: { tone: 'warning' | 'bad'; children: string }) {
  return (
    <p className="remark" data-tone={tone} lang="en">
      {children}
    </p>
  )
}

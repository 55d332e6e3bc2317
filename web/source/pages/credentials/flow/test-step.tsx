import type { CredentialTest } from '@millwright/api/credential-test.ts'
import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconError, iconInfo, iconSuccess, iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { type GatewayLink, nameOf, useReadyLinks } from '../../discovery/gateways/gateway-links.ts'
import { credentialMessages } from '../messages.ts'
import { type CredentialStart, singleAddress } from './credential-start.ts'
import { flowMessages } from './flow-messages.ts'

type TestStepProps = {
  instance: CredentialInstance
  start: CredentialStart
  /** Opens an earlier step, to correct the credentials. */
  onEdit: (step: 'values' | 'where') => void
  onDone: () => unknown
}

/** `TestStep` tests stored credentials against one device, and shows the outcome with the next step. */
export function TestStep({ instance, start, ...props }: TestStepProps) {
  const text = useText(flowMessages)
  const canTest = usePermission('glb_discovery_run')
  const { links, isLoading } = useReadyLinks()
  const offered = links.filter(({ link }) => link.deviceClass === instance.resourceIdentifier)
  if (canTest && isLoading) return <Loading />
  const [first] = offered
  if (canTest && first !== undefined)
    return <TestForm instance={instance} start={start} links={[first, ...offered.slice(1)]} {...props} />
  return (
    <div className="form">
      <Outcome tone="info" title={text.noLinkTitle}>
        <p>{canTest ? text.noLink : text.cannotTest}</p>
      </Outcome>
      <div className="form-actions">
        <IxButton onClick={props.onDone}>{text.done}</IxButton>
      </div>
    </div>
  )
}

type TestFormProps = TestStepProps & { links: readonly [GatewayLink, ...GatewayLink[]] }
type TestedDevice = { address: string; test: CredentialTest }

function TestForm({ instance, start, links, onEdit, onDone }: TestFormProps) {
  const text = useText(flowMessages)
  const words = useText(credentialMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [address, setAddress] = useState(start.address ?? singleAddress(instance.metadata.ipRanges) ?? '')
  const [chosen, setChosen] = useState<string>()
  const [isSubmitted, setSubmitted] = useState(false)
  const [isTesting, setTesting] = useState(false)
  const [tested, setTested] = useState<TestedDevice>()
  const link =
    links.find((each) => keyOfLink(each) === chosen) ?? links.find((each) => isStart(each, start)) ?? links[0]
  const run = async () => {
    setTesting(true)
    setTested(undefined)
    const data = { assetLinkId: link.link.assetLinkId, instanceId: instance.id, address: address.trim() }
    try {
      const { data: test } = await api.discovery.testCredential({
        params: { gatewayId: link.gatewayId },
        body: { data },
      })
      setTested({ address: data.address, test })
    } finally {
      setTesting(false)
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
  }
  const submit = () => {
    setSubmitted(true)
    return address.trim() === '' ? false : run()
  }
  const isAccepted = tested?.test.outcome === 'accepted'
  // The same attempt would have the same outcome, and failed attempts can lock the account of a device.
  const isSettled =
    tested?.address === address.trim() && ['accepted', 'rejected', 'not_required'].includes(tested.test.outcome)
  return (
    <Form
      action={tested === undefined ? text.run : text.again}
      isDisabled={isSettled}
      onSubmit={submit}
      extraActions={
        <IxButton variant={isAccepted ? 'primary' : 'secondary'} onClick={onDone}>
          {text.done}
        </IxButton>
      }
    >
      <p className="card-lead">{text.testLead}</p>
      <TextField
        label={text.address}
        isRequired
        isCode
        error={isSubmitted && address.trim() === '' ? words.required : undefined}
        value={address}
        onChange={setAddress}
      />
      {links.length > 1 && (
        <SelectField
          label={text.through}
          value={keyOfLink(link)}
          onChange={setChosen}
          choices={links.map((each) => ({
            value: keyOfLink(each),
            label: `${nameOf(each.link)} – ${each.gatewayName}`,
          }))}
        />
      )}
      <div role="status">
        {isTesting && <Loading label={text.testing} />}
        {tested !== undefined && <TestOutcome tested={tested} start={start} onEdit={onEdit} onDone={onDone} />}
      </div>
    </Form>
  )
}

function keyOfLink({ gatewayId, link }: GatewayLink): string {
  return `${gatewayId} ${link.assetLinkId}`
}

function isStart({ gatewayId, link }: GatewayLink, start: CredentialStart): boolean {
  return gatewayId === start.gatewayId && link.assetLinkId === start.assetLinkId
}

const tones = {
  accepted: 'good',
  not_required: 'info',
  rejected: 'bad',
  not_applicable: 'warning',
  unreachable: 'warning',
} as const

type TestOutcomeProps = Pick<TestStepProps, 'start' | 'onEdit' | 'onDone'> & { tested: TestedDevice }

function TestOutcome({ tested: { address, test }, start, onEdit, onDone }: TestOutcomeProps) {
  const text = useText(flowMessages)
  const { outcome, message } = test
  return (
    <Outcome tone={tones[outcome]} title={text[outcome](address)}>
      <p>{text[`${outcome}Hint`]}</p>
      {message !== undefined && (
        <p className="quiet">
          {text.linkMessage} <span lang="en">{message}</span>
        </p>
      )}
      <div className="notice-actions">
        {outcome === 'rejected' && <IxButton onClick={() => onEdit('values')}>{text.editValues}</IxButton>}
        {outcome === 'not_applicable' && <IxButton onClick={() => onEdit('where')}>{text.editWhere}</IxButton>}
        {outcome === 'accepted' && start.scanId !== undefined && <ScanAgain scanId={start.scanId} onStarted={onDone} />}
      </div>
    </Outcome>
  )
}

function ScanAgain({ scanId, onStarted }: { scanId: string; onStarted: () => unknown }) {
  const text = useText(flowMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    try {
      await api.discovery.runDiscovery({ params: { jobId: scanId } })
      showSuccess(text.scanStarted)
      await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
      await onStarted()
    } finally {
      setBusy(false)
    }
  }
  return (
    <IxButton variant="secondary" loading={isBusy} onClick={run}>
      {text.scanAgain}
    </IxButton>
  )
}

const icons = { good: iconSuccess, info: iconInfo, warning: iconWarning, bad: iconError } as const

type OutcomeProps = { tone: keyof typeof icons; title: string; children: React.ReactNode }

function Outcome({ tone, title, children }: OutcomeProps) {
  return (
    <div className="notice outcome" data-tone={tone}>
      <Icon name={icons[tone]} />
      <div>
        <p className="notice-title">{title}</p>
        {children}
      </div>
    </div>
  )
}

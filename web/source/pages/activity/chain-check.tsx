import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { activityMessages } from './messages.ts'

type ChainVerification = Output<'audit', 'verify'>['data']
type Check = { state: 'running' } | { state: 'done'; result: ChainVerification } | { state: 'failed'; failure: unknown }

/** `ChainCheck` verifies the hash chain of the audit trail on the server and shows the result. */
export function ChainCheck() {
  const text = useText(activityMessages)
  const api = useApi()
  const [check, setCheck] = useState<Check>()
  const verify = async () => {
    setCheck({ state: 'running' })
    try {
      setCheck({ state: 'done', result: (await api.audit.verify({})).data })
    } catch (failure) {
      setCheck({ state: 'failed', failure })
    }
  }
  return (
    <>
      <IxButton variant="secondary" onClick={verify}>
        {text.verify}
      </IxButton>
      <div role="status">
        {check?.state === 'running' && <Loading />}
        {check?.state === 'failed' && <ProblemMessage failure={check.failure} onRetry={verify} />}
        {check?.state === 'done' && <VerificationResult result={check.result} />}
      </div>
    </>
  )
}

function VerificationResult({ result: { intact, checked, head, firstFault } }: { result: ChainVerification }) {
  const text = useText(activityMessages)
  const formats = useFormats()
  return (
    <>
      <p>
        <StatusChip tone={intact ? 'good' : 'bad'}>
          {intact ? text.intact(formats.number(checked)) : text.broken(String(firstFault?.sequence ?? '?'))}
        </StatusChip>
      </p>
      {firstFault !== null && <p>{firstFault.detail}</p>}
      <KeyValueList
        items={[head !== null && { name: text.head, value: <code>{`${head.sequence}: ${head.hash}`}</code> }]}
      />
    </>
  )
}

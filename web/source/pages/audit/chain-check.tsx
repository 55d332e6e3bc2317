import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { auditMessages } from './messages.ts'

type ChainVerification = Output<'audit', 'verify'>['data']
type Check = { state: 'walking' } | { state: 'done'; result: ChainVerification } | { state: 'failed'; failure: unknown }

/** `ChainCheck` verifies the hash chain of the audit trail on the server and shows the result. */
export function ChainCheck() {
  const text = useText(auditMessages)
  const api = useApi()
  const [check, setCheck] = useState<Check>()
  const verify = async () => {
    setCheck({ state: 'walking' })
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
      {check !== undefined && (
        <Dialog title={text.verify} onClose={() => setCheck(undefined)}>
          {check.state === 'walking' && <Loading />}
          {check.state === 'failed' && <ProblemMessage failure={check.failure} onRetry={verify} />}
          {check.state === 'done' && <VerificationResult result={check.result} />}
        </Dialog>
      )}
    </>
  )
}

function VerificationResult({ result: { intact, checked, head, firstFault } }: { result: ChainVerification }) {
  const text = useText(auditMessages)
  const formats = useFormats()
  return (
    <>
      <p>
        <StatusChip tone={intact ? 'good' : 'bad'}>
          {intact ? text.intact(formats.number(checked)) : text.broken(String(firstFault?.sequence ?? '?'))}
        </StatusChip>
      </p>
      {firstFault !== null && <p>{firstFault.detail}</p>}
      <KeyValueList items={[head !== null && { name: text.sequence, value: `${head.sequence}: ${head.hash}` }]} />
    </>
  )
}

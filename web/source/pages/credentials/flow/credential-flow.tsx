import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { StepBar } from '../../../components/page/step-bar.tsx'
import { ValueFields } from '../instances/value-fields.tsx'
import {
  changesOf,
  errorsIn,
  type FormValues,
  fieldsOf,
  formValuesOf,
  type JsonObject,
  rangesIn,
  valuesOf,
} from '../instances/value-form.ts'
import { credentialMessages } from '../messages.ts'
import { type CredentialStart, networkOfStart, rangesOfStart } from './credential-start.ts'
import { type CredentialType, useCredentialTypes } from './credential-types.ts'
import { flowMessages } from './flow-messages.ts'
import { TestStep } from './test-step.tsx'
import { NoTypes, TypeChoices } from './type-step.tsx'
import './credential-flow.css'

type CredentialFlowProps = {
  start?: CredentialStart
  /** Credentials that are already stored. The flow then starts with their test. */
  instance?: CredentialInstance
  onClose: () => unknown
  /** Is called when the user ends the flow after the credentials were stored. */
  /** The type that is chosen first. */
  product?: string | undefined
  onDone?: ((id: string) => unknown) | undefined
}

const stepIds = ['type', 'values', 'where', 'test'] as const
type Step = (typeof stepIds)[number]

/** `CredentialFlow` adds credentials in four steps: type, values, addresses, and a test against one device. */
export function CredentialFlow({ start = {}, instance, product, onClose, onDone }: CredentialFlowProps) {
  const text = useText(flowMessages)
  const { types, isLoading } = useCredentialTypes()
  const [picked, setPicked] = useState<CredentialType>()
  const [chosenStep, setStep] = useState<Step | undefined>(instance === undefined ? undefined : 'test')
  const [saved, setSaved] = useState(instance)
  const [imported, setImported] = useState<string>()
  const ofStart = types.find(({ links }) =>
    links.some(({ gatewayId, link }) => gatewayId === start.gatewayId && link.assetLinkId === start.assetLinkId),
  )
  const ofProduct = types.find((each) => each.product === product)
  const type = picked ?? ofStart ?? ofProduct ?? (types.length === 1 ? types[0] : undefined)
  const schemaId = saved?.schemaId ?? imported ?? type?.schemaId
  const step = chosenStep ?? ((ofStart ?? ofProduct)?.schemaId === undefined ? 'type' : 'values')
  const end = async () => {
    await onClose()
    if (saved !== undefined) await onDone?.(saved.id)
  }
  const title =
    instance !== undefined
      ? text.testTitle(instance.name)
      : start.address === undefined
        ? text.add
        : text.addFor(devicesText(start, text))
  const content = () => {
    if (step === 'test' && saved !== undefined)
      return <TestStep instance={saved} start={start} onEdit={setStep} onDone={end} />
    if (isLoading) return <Loading />
    if (step === 'type' || schemaId === undefined)
      return (
        <TypeStep
          types={types}
          type={type}
          onPick={(next) => {
            setPicked(next)
            setImported(undefined)
          }}
          onNext={(id) => {
            setImported(id)
            setStep('values')
          }}
        />
      )
    return (
      <SchemaLoader schemaId={schemaId}>
        {(schema) => (
          <InputSteps
            key={`${schemaId} ${saved?.version ?? ''}`}
            step={step === 'where' ? 'where' : 'values'}
            setStep={setStep}
            schemaId={schemaId}
            schema={schema}
            typeName={type?.name ?? ''}
            start={start}
            instance={saved}
            onSaved={(next) => {
              setSaved(next)
              setStep('test')
            }}
          />
        )}
      </SchemaLoader>
    )
  }
  return (
    <Dialog title={title} onClose={saved === undefined ? onClose : end} isWide>
      <StepBar label={text.steps} steps={stepIds.map((id) => ({ id, title: text[id] }))} current={step} />
      <StepFocus step={step}>{content()}</StepFocus>
    </Dialog>
  )
}

/** `StepFocus` moves the focus to the first control of a step when the step appears. */
function StepFocus({ step, children }: { step: Step; children: ReactNode }) {
  const container = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step moves the focus
  useEffect(() => {
    const focusFirst = () => {
      const control = container.current?.querySelector<HTMLElement>('input:checked, input:not([type=radio]), select')
      control?.focus()
      return control != null
    }
    if (focusFirst() || container.current === null) return
    // The controls appear after the data of the step was loaded.
    const observer = new MutationObserver(() => focusFirst() && observer.disconnect())
    observer.observe(container.current, { childList: true, subtree: true })
    return () => observer.disconnect()
  }, [step])
  return (
    <div ref={container} className="credential-step">
      {children}
    </div>
  )
}

type TypeStepProps = {
  types: readonly CredentialType[]
  type: CredentialType | undefined
  onPick: (type: CredentialType) => void
  onNext: (schemaId: string) => void
}

function TypeStep({ types, type, onPick, onNext }: TypeStepProps) {
  const text = useText(flowMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  if (types.length === 0) return <NoTypes />
  const next = async () => {
    if (type?.schemaId !== undefined) return onNext(type.schemaId)
    const assetId = type?.links[0]?.link.assetId
    if (assetId === undefined) return
    const { data } = await api.credentials.createSchemaFromLink({ body: { data: { assetId } } })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials', 'listSchemas') })
    onNext(data.id)
  }
  return (
    <Form action={text.next} isDisabled={type === undefined} onSubmit={next}>
      <p className="card-lead">{text.typeLead}</p>
      <TypeChoices types={types} chosen={type} onChoose={onPick} />
    </Form>
  )
}

function SchemaLoader({ schemaId, children }: { schemaId: string; children: (schema: JsonObject) => ReactNode }) {
  const query = useOperationQuery()
  const schema = useQuery(query(['credentials', 'getSchema'], { params: { schemaId } }))
  return <QueryState query={schema}>{({ data }) => children(data.schema)}</QueryState>
}

const purposes = ['both', 'discovery', 'monitoring'] as const
type Purpose = (typeof purposes)[number]

type InputStepsProps = {
  step: 'values' | 'where'
  setStep: (step: Step) => void
  schemaId: string
  schema: JsonObject
  typeName: string
  start: CredentialStart
  instance: CredentialInstance | undefined
  onSaved: (instance: CredentialInstance) => void
}

type CredentialInput = { name: string; typed: FormValues; ranges: string; purpose: Purpose }

/** `InputSteps` contains the steps for the values and the addresses. The credentials are stored after the second one. */
function InputSteps({ step, setStep, schemaId, schema, typeName, start, instance, onSaved }: InputStepsProps) {
  const text = useText(flowMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const fields = fieldsOf(schema)
  const [input, setInput] = useState<CredentialInput>(() => ({
    name: instance?.name ?? (start.address === undefined ? '' : text.proposedName(typeName, proposedPlace(start))),
    typed: formValuesOf(instance?.values ?? {}),
    ranges: instance?.metadata.ipRanges.join('\n') ?? rangesOfStart(start),
    purpose: instance?.metadata.purpose ?? 'both',
  }))
  const change = (part: Partial<CredentialInput>) => setInput({ ...input, ...part })
  const save = async () => {
    const { purpose } = input
    const name = input.name.trim()
    const ipRanges = rangesIn(input.ranges)
    const { data } =
      instance === undefined
        ? await api.credentials.createInstance({
            body: {
              data: {
                schemaId,
                name,
                values: valuesOf(fields, input.typed),
                metadata: { ipRanges, ...(purpose !== 'both' && { purpose }) },
              },
            },
          })
        : await api.credentials.updateInstance({
            params: { instanceId: instance.id },
            body: {
              data: {
                name,
                values: changesOf(fields, instance.values, input.typed),
                metadata: { ipRanges, purpose: purpose === 'both' ? null : purpose },
              },
            },
          })
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
    onSaved(data)
  }
  if (step === 'values')
    return (
      <ValuesStep
        fields={fields}
        input={input}
        onChange={change}
        onNext={() => setStep('where')}
        onBack={instance === undefined ? () => setStep('type') : undefined}
      />
    )
  return <WhereStep start={start} input={input} onChange={change} onSave={save} onBack={() => setStep('values')} />
}

/** Names the devices for which the user adds credentials: the address of one device, or the number of devices. */
function devicesText({ address = '', addresses = [] }: CredentialStart, text: (typeof flowMessages)['en']): string {
  return addresses.length > 1 ? text.devices(addresses.length) : address
}

/** Returns the place in the proposed name: the network of the devices, or an address. */
function proposedPlace(start: CredentialStart): string {
  const { address = '', addresses = [] } = start
  return (addresses.length > 1 ? networkOfStart(start) : undefined) ?? address
}

type ValuesStepProps = {
  fields: ReturnType<typeof fieldsOf>
  input: CredentialInput
  onChange: (part: Partial<CredentialInput>) => void
  onNext: () => void
  onBack: (() => void) | undefined
}

function ValuesStep({ fields, input, onChange, onNext, onBack }: ValuesStepProps) {
  const text = useText(flowMessages)
  const words = useText(credentialMessages)
  const [isSubmitted, setSubmitted] = useState(false)
  const errors = errorsIn(fields, input.typed)
  const isUnnamed = input.name.trim() === ''
  const next = (): false => {
    setSubmitted(true)
    if (isUnnamed || Object.keys(errors).length > 0) return false
    onNext()
    return false
  }
  return (
    <Form action={text.next} onSubmit={next} extraActions={onBack && <BackButton onBack={onBack} />}>
      <p className="card-lead">{text.valuesLead}</p>
      <TextField
        label={words.name}
        hint={text.nameHint}
        error={isSubmitted && isUnnamed ? words.required : undefined}
        isRequired
        maxLength={128}
        value={input.name}
        onChange={(name) => onChange({ name })}
      />
      <ValueFields
        fields={fields}
        typed={input.typed}
        errors={isSubmitted ? errors : {}}
        onChange={(typed) => onChange({ typed })}
      />
    </Form>
  )
}

type WhereStepProps = {
  start: CredentialStart
  input: CredentialInput
  onChange: (part: Partial<CredentialInput>) => void
  onSave: () => Promise<unknown>
  onBack: () => void
}

type Scope = 'device' | 'network' | 'other'

function WhereStep({ start, input, onChange, onSave, onBack }: WhereStepProps) {
  const text = useText(flowMessages)
  const words = useText(credentialMessages)
  const [isSubmitted, setSubmitted] = useState(false)
  const { address } = start
  const devices = rangesOfStart(start)
  const network = networkOfStart(start)
  const [isOther, setOther] = useState(input.ranges !== devices && input.ranges !== network)
  const scope: Scope = isOther ? 'other' : input.ranges === network ? 'network' : 'device'
  const isMissing = input.ranges.trim() === ''
  const choose = (next: Scope) => {
    setOther(next === 'other')
    if (next === 'device') onChange({ ranges: devices })
    if (next === 'network') onChange({ ranges: network ?? '' })
  }
  const submit = () => {
    setSubmitted(true)
    return isMissing ? false : onSave()
  }
  return (
    <Form action={text.save} onSubmit={submit} extraActions={<BackButton onBack={onBack} />}>
      <p className="card-lead">{text.whereLead}</p>
      {address !== undefined && (
        <ViewSwitch<Scope>
          label={text.scope}
          chosen={scope}
          onChoose={choose}
          choices={[
            { value: 'device', label: text.onlyDevice(devicesText(start, text)) },
            ...(network === undefined ? [] : [{ value: 'network' as const, label: text.network(network) }]),
            { value: 'other', label: text.otherRanges },
          ]}
        />
      )}
      {(address === undefined || isOther) && (
        <TextAreaField
          label={words.ranges}
          hint={words.rangesHint}
          error={isSubmitted && isMissing ? words.required : undefined}
          isRequired
          isCode
          rows={3}
          value={input.ranges}
          onChange={(ranges) => onChange({ ranges })}
        />
      )}
      <SelectField
        label={words.purpose}
        value={input.purpose}
        onChange={(purpose) => onChange({ purpose })}
        choices={purposes.map((value) => ({ value, label: words[value] }))}
      />
    </Form>
  )
}

function BackButton({ onBack }: { onBack: () => void }) {
  const text = useText(flowMessages)
  return (
    <IxButton variant="secondary" onClick={onBack}>
      {text.back}
    </IxButton>
  )
}

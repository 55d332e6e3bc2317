import { updateLimits } from '@millwright/api/updates.ts'
import { iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useText } from '../../../app/language/language-context.tsx'
import { CheckField, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { WindowFields } from '../windows/window-fields.tsx'
import { type InvalidRolloutField, type RolloutForm, type WaveRow, waveOf } from './campaign-form.ts'
import { wizardMessages } from './messages.ts'

type RolloutStepProps = {
  form: RolloutForm
  onChange: (form: RolloutForm) => void
  isSubmitted: boolean
  invalid: InvalidRolloutField | undefined
}

/** `RolloutStep` contains the waves and the conditions of a campaign. */
export function RolloutStep({ form, onChange, isSubmitted, invalid }: RolloutStepProps) {
  const text = useText(wizardMessages)
  const change = (changed: Partial<RolloutForm>) => onChange({ ...form, ...changed })
  const errorOf = (field: InvalidRolloutField, message: string) => (invalid === field ? message : undefined)
  return (
    <>
      <TextField
        label={text.name}
        isRequired
        error={errorOf('name', text.required)}
        maxLength={128}
        value={form.name}
        onChange={(name) => change({ name })}
      />
      <fieldset className="group">
        <legend>{text.waves}</legend>
        <p className="field-hint">{form.waves.length === 0 ? text.oneWave : text.wavesHint}</p>
        <WaveRows waves={form.waves} onChange={(waves) => change({ waves })} isSubmitted={isSubmitted} />
        <TextField
          label={text.stop}
          hint={text.stopHint}
          error={errorOf('stop', text.invalidStop)}
          value={form.stop}
          onChange={(stop) => change({ stop })}
        />
      </fieldset>
      <fieldset className="group">
        <legend>{text.conditions}</legend>
        <CheckField
          label={text.approval}
          hint={text.approvalHint}
          isChecked={form.needsApproval}
          onChange={(needsApproval) => change({ needsApproval })}
        />
        <CheckField
          label={text.window}
          hint={text.windowHint}
          isChecked={form.hasWindow}
          onChange={(hasWindow) => change({ hasWindow })}
        />
        {form.hasWindow && (
          <WindowFields form={form.window} onChange={(window) => change({ window })} isSubmitted={isSubmitted} />
        )}
        <CheckField
          label={text.downgrade}
          hint={text.downgradeHint}
          isChecked={form.allowsDowngrade}
          onChange={(allowsDowngrade) => change({ allowsDowngrade })}
        />
        <div className="field-pair">
          <TextField
            label={text.concurrent}
            type="number"
            error={errorOf('concurrentDevices', text.invalidNumber(updateLimits.concurrentDevices))}
            value={form.concurrentDevices}
            onChange={(concurrentDevices) => change({ concurrentDevices })}
          />
          <TextField
            label={text.verify}
            hint={text.verifyHint}
            type="number"
            error={errorOf('verifyMinutes', text.invalidNumber(updateLimits.verifyMinutes.maximum))}
            value={form.verifyMinutes}
            onChange={(verifyMinutes) => change({ verifyMinutes })}
          />
        </div>
      </fieldset>
    </>
  )
}

type WaveRowsProps = { waves: readonly WaveRow[]; onChange: (waves: readonly WaveRow[]) => void; isSubmitted: boolean }

function WaveRows({ waves, onChange, isSubmitted }: WaveRowsProps) {
  const text = useText(wizardMessages)
  return (
    <>
      {waves.length > 0 && (
        <ol className="wave-rows">
          {waves.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a wave is identified by its number
            <li key={index} className="wave-row">
              <span className="wave-row-name">{text.wave(index + 1)}</span>
              <TextField
                label={text.waveSize(index + 1)}
                isLabelUnseen
                error={isSubmitted && waveOf(row) === undefined ? text.invalidWave : undefined}
                value={row.value}
                onChange={(value) => onChange(waves.with(index, { ...row, value }))}
              />
              <SelectField
                label={text.waveUnit(index + 1)}
                isLabelUnseen
                value={row.kind}
                onChange={(kind) => onChange(waves.with(index, { ...row, kind }))}
                choices={[
                  { value: 'percent', label: text.percentUnit },
                  { value: 'count', label: text.countUnit },
                ]}
              />
              <IxIconButton
                icon={iconTrashcan}
                variant="subtle-tertiary"
                type="button"
                aria-label={text.removeWave(index + 1)}
                onClick={() => onChange(waves.toSpliced(index, 1))}
              />
            </li>
          ))}
        </ol>
      )}
      {waves.length < updateLimits.waves && (
        <div>
          <IxButton
            variant="secondary"
            type="button"
            onClick={() => onChange([...waves, { kind: 'percent', value: waves.length === 0 ? '100' : '' }])}
          >
            {text.addWave}
          </IxButton>
        </div>
      )}
    </>
  )
}

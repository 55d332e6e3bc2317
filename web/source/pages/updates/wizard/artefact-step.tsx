import type { Artefact } from '@millwright/api/updates.ts'
import { iconPackage } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { artefactMessages } from '../artefacts/messages.ts'
import { UploadDialog } from '../artefacts/upload-dialog.tsx'
import { SignatureChip } from '../state-chips.tsx'
import { kindNames } from '../state-names.ts'
import { updateEvents } from '../update-data.ts'
import { wizardMessages } from './messages.ts'

type ArtefactStepProps = { artefact: Artefact | undefined; onChoose: (artefact: Artefact) => void; isMissing: boolean }

/** `ArtefactStep` chooses the artefact of a campaign. Artefacts that cannot be installed are listed but not offered. */
export function ArtefactStep({ artefact, onChoose, isMissing }: ArtefactStepProps) {
  const text = useText(wizardMessages)
  const kinds = useText(kindNames)
  const group = useId()
  const [q, setQ] = useState('')
  const { rows, error, isLoading, retry } = usePagedList(
    ['updates', 'listArtefacts'],
    { query: { ...(q !== '' && { q }) } },
    updateEvents,
  )
  if (error !== null) return <ProblemMessage failure={error} onRetry={retry} />
  if (isLoading && rows.length === 0 && q === '') return <Loading />
  if (rows.length === 0 && q === '') {
    return (
      <EmptyState icon={iconPackage} title={text.noArtefacts}>
        <p>{text.noArtefactsHint}</p>
        <UploadButton />
        <Link to="/updates" search={{ view: 'artefacts' } as never}>
          {text.toLibrary}
        </Link>
      </EmptyState>
    )
  }
  // The chosen artefact is listed first, so that the user always sees it.
  const others = rows.filter(({ id }) => id !== artefact?.id)
  const listed = artefact === undefined ? others : [artefact, ...others]
  return (
    <fieldset className="group">
      <legend>{text.chooseArtefact}</legend>
      <SearchField value={q} onChange={setQ} label={text.search} hint={text.searchHint} />
      {listed.length === 0 && <p className="quiet">{text.noMatches}</p>}
      <ul className="choice-list">
        {listed.map((each) => (
          <li key={each.id}>
            <label className="choice">
              <input
                type="radio"
                name={group}
                checked={each.id === artefact?.id}
                disabled={!each.isUsable}
                onChange={() => onChoose(each)}
              />
              <span className="choice-name">
                <strong>
                  {each.name} {each.version}
                </strong>
                <span className="quiet">
                  {kinds[each.kind]} · {each.manufacturer} · {each.products.join(', ')}
                </span>
              </span>
              <span className="chips">
                {!each.isUsable && <span className="quiet">{text.notUsable}</span>}
                <SignatureChip state={each.signature.state} />
              </span>
            </label>
          </li>
        ))}
      </ul>
      {isMissing && <p className="field-error">{text.artefactMissing}</p>}
      <p>
        <UploadButton />
      </p>
    </fieldset>
  )
}

/** `UploadButton` uploads another artefact. The list contains it afterwards. */
function UploadButton() {
  const { upload } = useText(artefactMessages)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IxButton variant="secondary" onClick={() => setOpen(true)}>
        {upload}
      </IxButton>
      {isOpen && <UploadDialog onClose={() => setOpen(false)} />}
    </>
  )
}

import type { AssetClass } from '@millwright/api/asset-class.ts'
import { memo } from 'react'
import type { Language } from '../../app/language/language.ts'
import { assetClassOfOne, classShape } from './asset-classes.ts'

type ClassIconProps = { assetClass: AssetClass; language: Language }

/**
 * `ClassIcon` shows the icon of a class in the rows of a table. It is a plain SVG element, because a custom element in each
 * row would slow down scrolling.
 */
export const ClassIcon = memo(function ClassIcon({ assetClass, language }: ClassIconProps) {
  const { paths, size, isEvenOdd } = classShape(assetClass)
  const name = assetClassOfOne(assetClass, language)
  return (
    <span className="class-icon" role="img" aria-label={name} title={name}>
      <svg viewBox={`0 0 ${size} ${size}`} fillRule={isEvenOdd ? 'evenodd' : 'nonzero'} aria-hidden="true">
        {paths.map(({ d, transform }) => (
          <path key={d} d={d} transform={transform} />
        ))}
      </svg>
    </span>
  )
})

"""What all findings together mean: the sentence at the head of a report. No rule is judged here."""
